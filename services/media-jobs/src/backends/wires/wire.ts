import { randomInt } from 'node:crypto';
import type { BackendFault, Replica } from '../../terms/backend.ts';
import type { Answer, Question } from '../exchange/askBackend.ts';

/** Requests to replicas, for the wires of all engines. Their results count for the health of the replicas. */
export interface Wire {
  /** Sends a request and returns its answer, of any status. Rejects with a `BackendFault` if no answer comes. */
  ask(replica: Replica, question: Question): Promise<Answer>;
  /** Returns the fault of an answer whose status is no success. Reads its body, unless that has been read. */
  refusalOf(replica: Replica, refusal: Refusal): Promise<BackendFault>;
  /** Returns the replica's name of its model. */
  servedNameOf(replica: Replica): string;
}

export interface Refusal extends Pick<Question, 'begins'> {
  answer: Answer;
  text?: string;
}

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Sends a request and returns a successful answer. Rejects with the fault of any other. */
export async function askForSuccess(wire: Wire, replica: Replica, question: Question): Promise<Answer> {
  const answer = await wire.ask(replica, question);
  if (isSuccess(answer)) return answer;
  throw await wire.refusalOf(replica, { answer, begins: question.begins });
}

/** Engines take seeds below this. */
const SEEDS = 2 ** 31;

/**
 * Returns a random seed for one render. Some engines begin each request with the same one, so that equal requests would
 * give equal results.
 */
export const drawSeed = (): number => randomInt(SEEDS);
