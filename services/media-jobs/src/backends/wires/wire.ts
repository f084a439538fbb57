import type { BackendFault, Replica } from '../../terms/backend.ts';
import type { Answer, Question } from '../exchange/askBackend.ts';

/** What the wires of all engines work with: requests to replicas, which are counted for their health. */
export interface Wire {
  /** Rejects with a `BackendFault` where no answer comes, whatever the status of one that does. */
  ask(replica: Replica, question: Question): Promise<Answer>;
  /** What an answer means whose status is no success; reads its body, unless that has been read. */
  refusalOf(replica: Replica, refusal: Refusal): Promise<BackendFault>;
  /** What a replica calls its model. */
  servedNameOf(replica: Replica): string;
}

export interface Refusal extends Pick<Question, 'begins'> {
  answer: Answer;
  text?: string;
}

export const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Asks for an answer with a status of success; any other rejects with what it means. */
export async function askForSuccess(wire: Wire, replica: Replica, question: Question): Promise<Answer> {
  const answer = await wire.ask(replica, question);
  if (isSuccess(answer)) return answer;
  throw await wire.refusalOf(replica, { answer, begins: question.begins });
}
