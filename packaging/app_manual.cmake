# cmake -DPROGRAM=… -DOUT=FOLDER -P: the manual pages of meshscope-app in both languages, each its help as it stands.
foreach(pair IN ITEMS en:man1 zh:zh_CN/man1)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 language)
  list(GET pair 1 folder)
  execute_process(COMMAND ${PROGRAM} --lang ${language} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^meshscope-app(: |：)([^\n]*)\n" first "${help}")
  set(about "${CMAKE_MATCH_2}")
  string(LENGTH "${first}" length)
  string(SUBSTRING "${help}" ${length} -1 rest)
  string(STRIP "${rest}" rest)
  foreach(text IN ITEMS about rest)
    string(REPLACE "\\" "\\e" ${text} "${${text}}")
    string(REPLACE "-" "\\-" ${text} "${${text}}")
    string(REGEX REPLACE "\n([.'])" "\n\\\\&\\1" ${text} "${${text}}")
  endforeach()
  # Somebody else's page has no such first line (core/base/file_kind.h), and stays.
  set(mark ".\\\" meshscope manual")
  set(page ${OUT}/${folder}/meshscope-app.1)
  if(EXISTS ${page})
    file(STRINGS ${page} lines LIMIT_COUNT 1)
    if(NOT lines STREQUAL mark)
      message(FATAL_ERROR "${page} is there and was not written by meshscope")
    endif()
  endif()
  file(WRITE ${page} "${mark}
.TH MESHSCOPE\\-APP 1
.SH NAME
meshscope\\-app \\- ${about}
.SH DESCRIPTION
.nf
${rest}
.fi
.SH SEE ALSO
.BR meshscope (1)
")
endforeach()
