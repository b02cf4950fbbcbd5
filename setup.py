"""pip install .: CMake builds the module; its settings stand in pyproject.toml."""

import pathlib
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(steptime VERSION (\S+)", (HERE / "CMakeLists.txt").read_text())[1]


class BuildByCMake(build_ext):
    def build_extension(self, ext):
        build = pathlib.Path(self.build_temp).resolve()
        package = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve().parent
        settings = {
            "CMAKE_BUILD_TYPE": "Release",
            "PYTHON_EXECUTABLE": sys.executable,
            "STEPTIME_PCH": "ON",
            "STEPTIME_PYTHON": "ON",
            "STEPTIME_TESTS": "OFF",
            "STEPTIME_UNITY": "ON",
        }
        options = [word for key, value in settings.items() for word in ("-D", f"{key}={value}")]
        subprocess.run(["cmake", "-S", HERE, "-B", build, "-G", "Ninja", *options], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "steptime_python"], check=True)
        subprocess.run(
            ["cmake", "--install", build, "--component", "python", "--prefix", package.parent],
            check=True,
        )


setup(
    version=VERSION,
    ext_modules=[Extension("steptime._steptime", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
)
