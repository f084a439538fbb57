import { runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import { stringify } from 'yaml';
import { openCluster } from './cluster.ts';
import { loadClusterSecrets, toSecretObjects } from './clusterSecrets.ts';
import { SCOPES } from './paths.ts';

/**
 * Steps that the Tiltfile cannot do itself. `tilt.ts secrets` prints the Secrets of every scope, and makes missing ones.
 * `tilt.ts open` allows this machine, gives each region a workspace, and describes them for the operator's command line.
 */
async function main(): Promise<number> {
  const [, , command] = process.argv;
  if (command === 'secrets') {
    await printSecrets();
    return 0;
  }
  if (command === 'open') {
    await openCluster(await loadClusterSecrets());
    return 0;
  }
  throw new StackError('There is "secrets" and "open".');
}

async function printSecrets(): Promise<void> {
  const secrets = await loadClusterSecrets();
  for (const scope of SCOPES) {
    for (const object of toSecretObjects(scope, secrets))
      process.stdout.write(`---\n${stringify(object, { lineWidth: 0 })}`);
  }
}

runCommand(main);
