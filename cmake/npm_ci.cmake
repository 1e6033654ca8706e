# Installs exactly what the lock file names; says what to do when that fails.
execute_process(COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY "${WEB}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the dashboard's packages could not be installed by `npm ci` in web/. Is the "
                      "npm registry reachable (see `npm config get registry`)? Without it, build "
                      "with -DRUBATO_WEB=OFF: all but dashboard and HTML reports is then there.")
endif()
file(TOUCH "${WEB}/node_modules/.package-lock.json")
