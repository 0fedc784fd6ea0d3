# Settings that every target shares, and one function for a layer of the house.

add_library(hocket_settings INTERFACE)
target_compile_options(hocket_settings INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Wno-restrict
                                                 -ffp-contract=off)
if(HOCKET_SANITIZE)
  target_compile_options(hocket_settings INTERFACE -fsanitize=${HOCKET_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all)
  target_link_options(hocket_settings INTERFACE -fsanitize=${HOCKET_SANITIZE})
  if(HOCKET_SANITIZE MATCHES "thread")
    # GCC warns that the sanitizer does not see fences; that can only make it report too much.
    target_compile_options(hocket_settings INTERFACE -Wno-tsan)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths below the sources are hashed relative to them, so that every clone shares the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
                                  ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# hocket_layer(name DEPENDS layer... LINK target...): the library of the folder it is called in, from all
# its sources, with `name` for its folder and hocket::name for its users.
function(hocket_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  set(target hocket_${name})
  add_library(${target} STATIC ${sources})
  add_library(hocket::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM arg_DEPENDS PREPEND hocket_)
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} ${arg_LINK} PRIVATE $<BUILD_INTERFACE:hocket_settings>)
  set_property(GLOBAL APPEND PROPERTY hocket_layers ${target})
endfunction()
