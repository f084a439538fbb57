import { StackError } from '@turnpike/local-stack/stackError';
import { stringify } from 'yaml';
import { openCluster } from './cluster.ts';
import { loadClusterSecrets, toSecretObjects } from './clusterSecrets.ts';
import { SCOPES } from './paths.ts';

/**
 * What the Tiltfile cannot do itself: `tilt.ts secrets` prints the Secrets of every scope, which are made where they are missing,
 * and `tilt.ts open` lets this machine in, gives each region a workspace, and describes them for the operator's command line.
 */
async function main(command: string | undefined): Promise<void> {
  if (command === 'secrets') return printSecrets();
  if (command === 'open') return void (await openCluster(await loadClusterSecrets()));
  throw new StackError('There is "secrets" and "open".');
}

async function printSecrets(): Promise<void> {
  const secrets = await loadClusterSecrets();
  for (const scope of SCOPES) {
    for (const object of toSecretObjects(scope, secrets))
      process.stdout.write(`---\n${stringify(object, { lineWidth: 0 })}`);
  }
}

main(process.argv[2]).catch((error: unknown) => {
  process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
  process.exitCode = 1;
});
