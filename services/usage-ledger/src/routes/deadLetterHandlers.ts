import { toChangeLog } from '@turnpike/http-service/createHttpApp';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import {
  type DeadLetterEntry,
  dismissDeadLetter,
  findDeadLetter,
  listDeadLetters,
} from '../dead-letters/findDeadLetters.ts';
import { replayDeadLetter } from '../dead-letters/replayDeadLetter.ts';
import type { ReadContext } from '../ledger/readUsageEvent.ts';

const PAGE = 500;

export interface DeadLetterHandlerDependencies {
  db: Db;
  lookUpDb: Db;
  region: ReadContext['region'];
  log: Logger;
}

type DeadLetterHandlers = Pick<
  Handlers<typeof usageLedgerApi>,
  'listDeadLetters' | 'getDeadLetter' | 'replayDeadLetter' | 'dismissDeadLetter'
>;

/** Records that could not be read, for the operator. */
export function createDeadLetterHandlers({
  db,
  lookUpDb,
  region,
  log,
}: DeadLetterHandlerDependencies): DeadLetterHandlers {
  return {
    async listDeadLetters({ params: { after, replayed } }) {
      const withEnded = replayed === 'include';
      const letters = await listDeadLetters(lookUpDb, { after, limit: PAGE, withEnded });
      const last = letters.length === PAGE ? letters.at(-1) : undefined;
      return { dead_letters: letters.map(toDeadLetterBody), next_after: last ? String(last.id) : null };
    },
    async getDeadLetter({ params: { dead_letter_id: id } }) {
      const letter = await findDeadLetter(lookUpDb, id);
      if (!letter) throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
      return { ...toDeadLetterBody(letter), payload_base64: Buffer.from(letter.payload).toString('base64') };
    },
    async replayDeadLetter({ params: { dead_letter_id: id }, body: { repaired_base64: repaired } }) {
      const outcome = await replayDeadLetter(db, {
        id,
        repaired: repaired === undefined ? undefined : Buffer.from(repaired, 'base64'),
        region,
      });
      if (!outcome) throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
      return { id: String(outcome.id), is_replayed: outcome.reason === null, reason: outcome.reason };
    },
    async dismissDeadLetter({ params: { dead_letter_id: id }, body: { note } }, res) {
      if (!(await dismissDeadLetter(db, { id, note })))
        throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
      toChangeLog(log, res).info({ deadLetterId: String(id) }, 'dead letter dismissed');
      return { id: String(id) };
    },
  };
}

/** A dead letter for the operator, without its bytes. */
function toDeadLetterBody({ id, topic, partition, offset, reason, bytes, ...at }: DeadLetterEntry) {
  return {
    id: String(id),
    topic,
    partition,
    offset: String(offset),
    reason,
    bytes,
    recorded_at: at.recordedAt.toISOString(),
    replayed_at: at.replayedAt?.toISOString() ?? null,
    dismissed_at: at.dismissedAt?.toISOString() ?? null,
    dismissal_note: at.dismissalNote,
  };
}
