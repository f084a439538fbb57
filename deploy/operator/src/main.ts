import { runOperator } from './cli/runOperator.ts';

// A reader that leaves, such as `turnpike keys list | head`, is no failure.
process.stdout.on('error', () => undefined);

// Not process.exit: what was written to a pipe would be cut off.
process.exitCode = await runOperator({
  args: process.argv.slice(2),
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
});
