import type { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { toPrintable } from '../report/formatTable.ts';
import type { StackAccess } from './findStack.ts';

/** Advice about a refusal, because the service does not know the operator's command. */
const ADVICE: Record<string, string> = {
  unknown_key: '"turnpike keys list --workspace WS" shows the ids.',
  key_has_two_secrets: 'Wait for that, or end it now with "turnpike keys end-old KEY_ID".',
  key_rotated: 'Where that one is lost, revoke it and make another with "turnpike keys create".',
  workspace_not_found: '"turnpike workspaces list" shows the ids.',
  organization_not_found: '"turnpike organizations list" shows the ids.',
  epoch_not_found: '"turnpike totals epochs" shows the epochs of each region.',
  hold_not_found: '"turnpike holds list" shows the ids of those that are open.',
  verification_not_found: '"turnpike verifications list ORG" shows the ids.',
  unknown_member: '"turnpike members list ORG" shows the ids of users.',
  model_not_found: '"turnpike models list" shows the ids; an alias is not one.',
  engine_not_found: '"turnpike engines" shows the ids.',
  dead_letter_not_found: '"turnpike dead-letters list" shows those that wait.',
  top_up_not_found: '"turnpike top-ups list" shows the ids.',
  refund_not_found: '"turnpike refunds list" shows the ids.',
  document_not_found: '"turnpike invoices list" shows the ids and numbers.',
  rate_out_of_range: 'Compare the file with its source; "--confirmed" takes it.',
  credit_conflict: 'Choose another --id for another credit.',
};

/** A failure whose words say what to do. */
const FORESEEN_FAILURE = 'gate_not_told';

/** One line about a call that brought no answer of use: what is wrong and what to do. */
export function toProblem({ service, failure, isRead }: InternalCallError, urls: StackAccess['urls']): string {
  switch (failure.kind) {
    case 'late':
      return isRead
        ? `${service} gave no answer within ${failure.timeoutMs / 1_000} s: "turnpike status" says whether it runs.`
        : `${service} gave no answer within ${failure.timeoutMs / 1_000} s. What was asked for may have been done: look before you repeat it.`;
    case 'unanswered':
      return `${service} cannot be reached at ${urls[service]}: see whether it runs, and whether this is the right stack.`;
    case 'malformed':
      return `${service} answered in a way that this version of turnpike does not understand; if a change was asked for, it was made.`;
    case 'refused': {
      const { status, fault, message, requestId } = failure;
      if (status === 401)
        return `${service} does not accept the operator's token: see whether INTERNAL_SIGNING_KEY is that of this stack, and the clocks agree.`;
      if (fault === undefined || (status >= 500 && fault !== FORESEEN_FAILURE)) {
        const log = `"turnpike status" says what is missing, and its log why, under request id ${requestId ?? 'unknown'}`;
        return toPrintable(`${service} failed with status ${status}: ${log}.`);
      }
      return toPrintable([message, ADVICE[fault]].filter((part) => part !== undefined).join(' '));
    }
  }
}
