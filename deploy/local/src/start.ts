import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Progress } from './launchParts.ts';
import { DEFAULT_PORT_BASE, parsePortBase, parseStartArguments, START_USAGE } from './parseStartArguments.ts';
import { type PartEnd, STOP_GRACE_MS, toPartEndText } from './process/startParts.ts';
import { formatStack } from './report/formatStack.ts';
import { repositoryRoot } from './repositoryRoot.ts';
import { askRestart, serveRestarts } from './restartPart.ts';
import { print, runCommand } from './runCommand.ts';
import { StackError } from './stackError.ts';
import { startStack } from './startStack.ts';
import { readObservation } from './toPartEnvironment.ts';

/** A Ctrl-C comes from the terminal, once more from npm and from the bootstrap, all within this time. */
const ONE_CTRL_C_MS = 1_000;

/** `npm start`: runs the whole gateway on this machine until it is stopped. */
async function main(): Promise<number> {
  const { regions, kafka, s3, engines, restart, help } = parseStartArguments(process.argv.slice(2));
  if (help) return print(START_USAGE);
  const portBase = parsePortBase(process.env.PORT_BASE);
  const stateDir = join(repositoryRoot, '.turnpike', String(portBase));
  if (restart !== undefined) return print(await askRestart(stateDir, restart, portBase));
  const told = untilToldToStop();

  print(
    heading(
      `Turnpike, ${regions.length === 1 ? 'region' : 'regions'} ${regions.join(' and ')}, ports from ${portBase}`,
    ),
  );
  const startedAt = performance.now();
  const running = await startStack({
    portBase,
    stateDir,
    link: join(repositoryRoot, '.turnpike', 'stack.json'),
    regions,
    kafka,
    s3,
    engines,
    observation: readObservation(process.env),
    signal: told.signal,
    say: (line) => print(`  ${line}`),
    onProgress: printProgress,
    onPartEnd: (end) =>
      print(`\n${toPartEndText(end)}\nThe other parts go on running. ${toRestartText(end, portBase)}`),
  });
  await serveRestarts(stateDir, running.replace);
  print(`  Ready in ${toSeconds(performance.now() - startedAt)}.\n`);
  print(formatStack(running, { stateDir, heading }));

  await told.stop;
  print(`\nStopping: waiting up to ${STOP_GRACE_MS / 1000} s for open streams; Ctrl-C again stops at once.`);
  await running.stop(told.hurry);
  return print('Stopped.');
}

/**
 * Ctrl-C, a terminal that closes, and the end of the process that started this one all mean the same, however often.
 * Only a further Ctrl-C means more: `hurry`.
 */
function untilToldToStop(): { stop: Promise<void>; signal: AbortSignal; hurry: AbortSignal } {
  const { promise: stop, resolve } = Promise.withResolvers<void>();
  const [told, hurry] = [new AbortController(), new AbortController()];
  let toldAt: number | undefined;
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) {
    process.on(event, () => {
      toldAt ??= performance.now();
      if (event === 'SIGINT' && performance.now() - toldAt > ONE_CTRL_C_MS) hurry.abort();
      told.abort(new StackError('Stopped before everything was up.'));
      resolve();
    });
  }
  return { stop, signal: told.signal, hurry: hurry.signal };
}

function toRestartText({ part: { name } }: PartEnd, portBase: number): string {
  return `To start it again: ${portBase === DEFAULT_PORT_BASE ? '' : `PORT_BASE=${portBase} `}npm start -- --restart ${name}`;
}

function printProgress({ part, tookMs }: Progress): void {
  print(`  ${part.padEnd(14)} ready after ${toSeconds(tookMs)}`);
}

function toSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

function heading(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

runCommand(main);
