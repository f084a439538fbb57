import { z } from 'zod';
import { toPrintable } from '../report/toPrintable.ts';
import type { ServiceName } from './services.ts';

/** Either of the shapes in which services word a refusal. */
const refusalSchema = z.union([
  z.object({ error: z.string(), message: z.string() }),
  z
    .object({ error: z.object({ code: z.string(), message: z.string() }) })
    .transform(({ error }) => ({ error: error.code, message: error.message })),
]);

/** What to do about a refusal, where the service itself cannot know how it was asked. */
const ADVICE: Record<string, string> = {
  unknown_key: '"turnpike keys list --workspace WS" shows the ids.',
  key_rotated: 'Where that one is lost, revoke it and make another with "turnpike keys create".',
  workspace_not_found: '"turnpike workspaces list" shows the ids.',
  model_not_found: '"turnpike models list" shows the ids; an alias will not do.',
  engine_not_found: '"turnpike engines" shows the ids.',
  dead_letter_not_found: '"turnpike dead-letters list" shows those that wait.',
  credit_conflict: 'Choose another --id for another credit.',
};

/** A failure whose words say what to do. */
const FORESEEN_FAILURE = 'gate_not_told';

export interface FailedAnswer {
  service: ServiceName;
  status: number;
  requestId: string | null;
  text: string;
}

/** One line about an answer that is not a success: what is wrong and what to do. */
export function toProblem({ service, status, requestId, text }: FailedAnswer): string {
  if (status === 401)
    return `${service} does not accept the operator's token: see whether INTERNAL_TOKEN_KEYS is that of this stack, and the clocks agree.`;
  const refusal = refusalSchema.safeParse(parseJson(text));
  if (!refusal.success || (status >= 500 && refusal.data.error !== FORESEEN_FAILURE)) {
    const log = `its log says why, under request id ${requestId ?? 'unknown'}`;
    return toPrintable(`${service} failed with status ${status}: ${log}.`);
  }
  const { error, message } = refusal.data;
  if (error === 'model_not_found') return `There is no such model. ${ADVICE[error]}`;
  return toPrintable([message, ADVICE[error]].filter((part) => part !== undefined).join(' '));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
