import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { styleText } from 'node:util';
import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { bringUp, build, takeDown } from './cluster.ts';
import { CLUSTER_USAGE, parseClusterArguments } from './parseClusterArguments.ts';

const SUITE = fileURLToPath(new URL('../../../test/cluster/main.ts', import.meta.url));

/** `npm run cluster`: both regions and the account layer on a real Kubernetes on this machine, or one of its other commands. */
async function main(): Promise<number> {
  const command = parseClusterArguments(process.argv.slice(2));
  const output = { print, heading };
  switch (command.command) {
    case 'help':
      return print(CLUSTER_USAGE);
    case 'up':
      await bringUp({ ...output, nodes: command.nodes });
      return 0;
    case 'build':
      await build(output);
      return 0;
    case 'down':
      await takeDown(output);
      return 0;
    case 'test':
      return runSuite(command.args);
  }
}

/** In a process of its own, which ends as Ctrl-C or its own verdict says. */
function runSuite(args: string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, '--disable-warning=TimeoutNegativeWarning', SUITE, ...args],
    {
      stdio: 'inherit',
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function heading(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

runCommand(main);
