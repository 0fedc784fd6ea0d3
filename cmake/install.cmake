# `cmake --install build` gives a consumer find_package(hocket) and the target hocket::hocket.
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY hocket_layers)
install(TARGETS ${layers} EXPORT hocket ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS hocket_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY hocket DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN "cli" EXCLUDE)
install(EXPORT hocket NAMESPACE hocket:: FILE hocket-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
configure_package_config_file(cmake/hocket-config.cmake.in ${PROJECT_BINARY_DIR}/hocket-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hocket-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hocket-config.cmake ${PROJECT_BINARY_DIR}/hocket-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/hocket)
