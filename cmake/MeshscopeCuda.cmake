# CUDA where a toolkit is found; included by the root, as a language must be. No driver is needed. After it CUDA::cublasLt
# and CUDA::cudart_static are targets, or they are not, and then what needs them is not built.
# Device code is for compute capability 8.0 (and so 8.6 and 8.9) and 9.0, from which a driver makes that of newer GPUs.
include(CheckLanguage)
if(NOT CMAKE_CUDA_COMPILER)
  find_program(MESHSCOPE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(MESHSCOPE_NVCC)
    set(CMAKE_CUDA_COMPILER ${MESHSCOPE_NVCC})
  endif()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  find_package(CUDAToolkit)
endif()
