import type { Tx } from '../database/openDatabase.ts';
import { Prisma } from '../generated/client.ts';

/** The sender of a request, as an audit line names it. */
export interface Origin {
  /** The client's address. */
  address: string;
  browser: string;
  requestId: string;
}

/** The sender of a change that no request asked for. */
export const SYSTEM: Origin = { address: '', browser: '', requestId: '' };

export interface AuditLine {
  organizationId?: string;
  /** The id of a user, or of the operator: `user_…`. */
  actor: string;
  /** A noun and a verb in the past: `member.removed`. */
  action: string;
  /** The id of the changed thing. */
  target: string;
  /** The changed fields before and after, without secrets. */
  before?: Prisma.InputJsonObject;
  after?: Prisma.InputJsonObject;
}

/** Writes a line in the transaction of the change, so that neither stands without the other. */
export async function writeAudit(tx: Tx, { address, requestId }: Origin, line: AuditLine): Promise<void> {
  const { before = Prisma.DbNull, after = Prisma.DbNull, organizationId = null } = line;
  await tx.audit.create({ data: { ...line, organizationId, before, after, address, requestId } });
}
