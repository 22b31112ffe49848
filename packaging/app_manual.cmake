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
  file(WRITE ${OUT}/${folder}/meshscope-app.1 ".TH MESHSCOPE\\-APP 1
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
