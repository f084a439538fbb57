import type { FuzzCase } from '../cases/fuzzCase.ts';
import type { Problem } from '../oracle/answer.ts';
import type { Judge } from '../oracle/createJudge.ts';
import { isCreation } from '../oracle/expectedStatuses.ts';
import type { Sender } from './sendCase.ts';

/** The outcome of one case. */
export interface Outcome {
  /** Undefined where no whole answer came. */
  status: number | undefined;
  /** The id of an answer that cost something. */
  servedCallId: string | undefined;
  /** Whether media are, or will be made by it: their calls have no id that is shown. */
  isServedMedia: boolean;
  problems: Problem[];
}

/** Sends a case and judges what comes back; that nothing does is a problem too. Never rejects. */
export async function tryCase(
  fuzzCase: FuzzCase,
  { sender, judge }: { sender: Sender; judge: Judge },
): Promise<Outcome> {
  try {
    const answer = await sender.send(fuzzCase);
    const callId = answer.headers.get('x-router-call-id');
    const isServed = answer.status === 200 && callId !== null;
    const isServedMedia = fuzzCase.kind === 'call' && isCreation(fuzzCase) && answer.status < 300;
    return {
      status: answer.status,
      servedCallId: isServed ? callId : undefined,
      isServedMedia,
      problems: judge(fuzzCase, answer),
    };
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    const text = `no whole answer: ${code ?? ''} ${message}`;
    const problems: Problem[] = [{ kind: 'silence', text, mayBeTheMachine: true }];
    return { status: undefined, servedCallId: undefined, isServedMedia: false, problems };
  }
}

const ATTEMPTS = 3;

/** The same for a case sent alone, where what a busy machine may have caused counts only if it comes each time. */
export async function tryCaseSteadily(
  fuzzCase: FuzzCase,
  target: { sender: Sender; judge: Judge },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const outcome = await tryCase(fuzzCase, target);
    outcomes.push(outcome);
    if (outcome.problems.every(({ mayBeTheMachine }) => !mayBeTheMachine)) break;
  }
  return outcomes;
}
