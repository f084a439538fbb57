import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { BIN, KUBECONFIG } from '@turnpike/cluster/paths';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** Last lines of a block that failed, which have its cause. */
const LINES_SHOWN = 15;
/** Some wait for a condition, for as long as it takes. */
const ENDS_WITHIN_MS = 900_000;

/** A shell of an operator, in which one block of commands is pasted after the other. */
export interface Shell {
  /** Resolves when all commands have ended well. Rejects with what was printed last where one ends with another exit code than 0, or none within 15 min. */
  paste(commands: string): Promise<void>;
  close(): void;
}

/** A bash in the repository or another folder, with the cluster's kubectl and these variables. A command that fails ends it. */
export function openShell(variables: Record<string, string>, folder = repositoryRoot): Shell {
  const { PATH = '', PORT_BASE: _otherStack, ...env } = process.env;
  const child = spawn('bash', ['-e', '-o', 'pipefail'], {
    cwd: folder,
    // The Node that runs this is the one that runs the command line.
    env: { ...env, PATH: [BIN, dirname(process.execPath), PATH].join(':'), KUBECONFIG, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  let onPrinted = (): void => undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      onPrinted();
    });
  child.stdin.on('error', () => undefined); // the shell has ended, and 'close' reports it
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.once('close', () => resolve());

  return {
    async paste(commands) {
      printed = '';
      const { promise: done, resolve: isDone } = Promise.withResolvers<true>();
      const mark = `pasted ${crypto.randomUUID()}`;
      onPrinted = () => {
        if (printed.includes(mark)) isDone(true);
      };
      // Commands read nothing from where this comes from.
      child.stdin.write(`{\n${commands}\n} < /dev/null\necho '${mark}'\n`);
      const timer = setTimeout(() => child.kill(), ENDS_WITHIN_MS);
      const endedWell = await Promise.race([done, ended.then(() => false)]);
      clearTimeout(timer);
      if (endedWell) return;
      const last = printed.trim().split('\n').slice(-LINES_SHOWN).join('\n');
      throw new Error(`a block failed:\n${commands}\nIt printed:\n${last}`);
    },
    close: () => void child.kill(),
  };
}
