#!/usr/bin/env node
// Runs the program, which is in the package of this platform.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "{{name}}.exe" : "{{name}}";

let program;
try {
  program = require.resolve(`{{npm_prefix}}${platform}/${file}`);
} catch {
  console.error(
    `{{name}}: the package {{npm_prefix}}${platform} is not installed; ` +
      "either there is none for this platform, or npm ran with --omit=optional",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (error) => {
  console.error(`{{name}}: ${error.message}`);
  process.exit(1);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    // A terminal sends its interrupt to the program too.
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
