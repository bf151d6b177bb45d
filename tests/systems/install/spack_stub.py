#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# usage: spack_stub.py PACKAGE.py
# Loads a Spack recipe with a stand-in for spack.package and asks it for its meson options, with each variant on and off.
import runpy
import sys
import types

declared = {"variant": {}, "depends_on": [], "version": [], "license": []}


def directive(name):
    def declare(*words, **options):
        if name == "variant":
            declared[name][words[0]] = options["default"]
        else:
            declared[name].append((words, options))

    return declare


class MesonPackage:
    pass


class Spec:
    def __init__(self, on):
        self.on = on

    def satisfies(self, text):
        if text[1:] not in declared["variant"]:
            sys.exit(f"the recipe asks for a variant that it does not have: {text}")
        return (text[0] == "+") == (text[1:] in self.on)


def main():
    stub = types.ModuleType("spack.package")
    stub.__dict__.update({name: directive(name) for name in declared}, MesonPackage=MesonPackage)
    sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": stub})
    package = runpy.run_path(sys.argv[1])["Portals3"]()
    options = {line.split("'")[1] for line in open("meson_options.txt") if line.startswith("option(")}
    for on in [set(), set(declared["variant"])] + [{name} for name in declared["variant"]]:
        package.spec = Spec(on)
        for argument in package.meson_args():
            name, value = argument.removeprefix("-D").split("=")
            if name not in options or value not in ("enabled", "disabled", "true", "false"):
                sys.exit(f"meson has no such option: {argument}")
    conditions = {condition for _, options in declared["depends_on"] if (condition := options.get("when"))}
    missing = {condition for condition in conditions if condition[1:] not in declared["variant"]}
    if missing or not declared["version"] or not declared["license"]:
        sys.exit(f"incomplete: {missing}")


main()
