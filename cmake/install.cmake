# The installed tree: lib, include, a CMake package and a pkg-config file below WIA_PACKAGE_DIR, all
# of them relocatable; in a wheel also the folder of driver manifests beside the package.
set(lib ${WIA_PACKAGE_DIR}/lib)
# CMake counts the parts of this path to find its way back to the prefix: no "./" in front.
cmake_path(SET lib NORMALIZE ${lib})

if(SKBUILD)
  # A wheel holds no symbolic links: the name for -lwia is a linker script.
  install(TARGETS wia_core EXPORT wia LIBRARY DESTINATION ${lib} NAMELINK_SKIP)
  file(WRITE ${PROJECT_BINARY_DIR}/libwia.so.script "INPUT(libwia.so.${PROJECT_VERSION_MAJOR})\n")
  install(FILES ${PROJECT_BINARY_DIR}/libwia.so.script DESTINATION ${lib} RENAME libwia.so)
  install(FILES ${WIA_GENERATED_DIR}/_operations.py DESTINATION wia)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/wia_drivers.d DESTINATION .)
else()
  install(TARGETS wia_core EXPORT wia LIBRARY DESTINATION ${lib})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${WIA_GENERATED_DIR}/include/
        DESTINATION ${WIA_PACKAGE_DIR}/include)

include(CMakePackageConfigHelpers)
file(WRITE ${PROJECT_BINARY_DIR}/wiaConfig.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/wiaTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wiaConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wiaConfig.cmake ${PROJECT_BINARY_DIR}/wiaConfigVersion.cmake
        DESTINATION ${lib}/cmake/wia)
install(EXPORT wia NAMESPACE wia:: FILE wiaTargets.cmake DESTINATION ${lib}/cmake/wia)

configure_file(cmake/wia.pc.in wia.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wia.pc DESTINATION ${lib}/pkgconfig)
