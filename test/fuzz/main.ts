import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import { ProgressLine } from '../faults/report/progressLine.ts';
import { type CaseKind, type Draw, drawCase } from './cases/drawCase.ts';
import { describeCase } from './cases/fuzzCase.ts';
import { FUZZ_USAGE, parseFuzzArguments } from './parseFuzzArguments.ts';
import { formatProgress, formatReport } from './report/formatReport.ts';
import { runFuzz } from './run/runFuzz.ts';
import { type FuzzStack, startFuzzStack } from './run/startFuzzStack.ts';

/** Most requests under way at once. Recordings wait for a decoder, which refuses what waits too long. */
const IN_FLIGHT: Record<CaseKind, number> = { all: 32, text: 32, media: 8, forms: 4 };
/** Between two lines of progress where there is no terminal. */
const LINE_EVERY_MS = 15_000;

/** `npm run fuzz`: a stack of its own, many cases or one, a report. */
async function main(): Promise<number> {
  const { help, cases, replay, ...draw } = parseFuzzArguments(process.argv.slice(2));
  if (help) return print(FUZZ_USAGE);
  print(`seed ${draw.seed} of ${draw.of}; starting a stack`);
  const stack = await startFuzzStack({ inFlight: IN_FLIGHT[draw.of] });
  try {
    const work = replay === undefined ? soak(stack, draw, cases) : replayCase(stack, draw, replay);
    return await Promise.race([work, untilToldToStop()]);
  } finally {
    await stack.stop();
  }
}

async function soak(stack: FuzzStack, draw: Draw, cases: number): Promise<number> {
  const startedAt = performance.now();
  let line = 'sending';
  let toldAt = startedAt;
  const progress = new ProgressLine(process.stdout, () => line);
  const result = await runFuzz(stack, {
    draw,
    from: 0,
    cases,
    inFlight: IN_FLIGHT[draw.of],
    onProgress(tally) {
      const now = performance.now();
      line = formatProgress(tally, { cases, tookMs: now - startedAt });
      if (process.stdout.isTTY || now - toldAt < LINE_EVERY_MS) return;
      toldAt = now;
      progress.print(line);
    },
  });
  const tookMs = performance.now() - startedAt;
  const bookProblems = await stack.books.check({ callIds: result.servedCallIds, media: result.servedMedia });
  progress.close();
  print(formatReport(result, { draw, tookMs, bookProblems }));
  return result.findings === 0 && bookProblems.length === 0 ? 0 : 1;
}

async function replayCase(stack: FuzzStack, draw: Draw, index: number): Promise<number> {
  const drawn = drawCase(draw, index);
  print(describeCase(drawn));
  await stack.loops.takeBlockedMs();
  const answer = await stack.sender.send(drawn);
  print(
    `\n${answer.status}\n${[...answer.headers].map(([name, value]) => `  ${name}: ${value}`).join('\n')}\n${answer.body}`,
  );
  print(`\nlongest block of an event loop: ${Math.round(await stack.loops.takeBlockedMs())} ms`);
  const problems = stack.judge(drawn, answer);
  print(problems.length === 0 ? 'nothing wrong' : problems.map(({ kind, text }) => `${kind}: ${text}`).join('\n'));
  return problems.length === 0 ? 0 : 1;
}

/** Ctrl-C, a terminal that closes, and the end of the process that started this one all mean the same, however often. */
function untilToldToStop(): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'])
      process.on(event, () => reject(new StackError('Stopped before every case was sent.')));
  });
}

runCommand(main);
