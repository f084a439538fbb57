import { runOperator } from './cli/runOperator.ts';

// A reader that leaves, such as `turnpike keys list | head`, is no failure.
process.stdout.on('error', () => undefined);

// The exit code is set, because process.exit would cut off output to a pipe.
process.exitCode = await runOperator({
  args: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});
