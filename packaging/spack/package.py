# SPDX-License-Identifier: BSD-3-Clause
# Tried: parsed, and its class loaded against a stub of spack.package (tests/systems/install/recipes.sh); not with Spack itself.
from spack.package import *


class Portals3(MesonPackage):
    """Portals 3.3 message passing on an emulated network processor."""

    homepage = "https://example.org/portals3"
    git = "https://example.org/portals3.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("pmix", default=True, description="Find the other processes of a job through PMIx")
    variant("compat", default=True, description="Install the names of other Portals 3.3 implementations")
    variant("cnos", default=False, description="Install libcnos.a for programs of the Cray XT")
    variant("bench", default=True, description="Install ptlbench")
    variant("docs", default=False, description="Make manual pages and an HTML reference")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    # Both are loaded at run time: the library is built against their headers.
    depends_on("libfabric@1.17:", type=("build", "run"))
    depends_on("pmix", type=("build", "run"), when="+pmix")
    depends_on("doxygen", type="build", when="+docs")
    depends_on("python@3:", type="build", when="+docs")

    def meson_args(self):
        def feature(option, variant):
            return f"-D{option}={'enabled' if self.spec.satisfies('+' + variant) else 'disabled'}"

        def boolean(option, variant):
            return f"-D{option}={'true' if self.spec.satisfies('+' + variant) else 'false'}"

        return [
            "-Dtests=disabled",
            "-Dexamples=disabled",
            feature("pmix", "pmix"),
            feature("bench", "bench"),
            feature("docs", "docs"),
            boolean("compat", "compat"),
            boolean("cnos", "cnos"),
        ]

    def setup_run_environment(self, env):
        # libportals3 opens libfabric by its soname.
        env.prepend_path("LD_LIBRARY_PATH", self.spec["libfabric"].prefix.lib)
