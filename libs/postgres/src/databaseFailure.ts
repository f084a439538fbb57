import { z } from 'zod';

const adapterErrorSchema = z.object({ cause: z.object({ kind: z.string(), originalCode: z.string().optional() }) });
/** Error of Postgres, as the driver throws it. */
const driverErrorSchema = z.object({ severity: z.string(), code: z.string() });
/** Codes of Node for a server that cannot be reached or ended the connection. */
const UNREACHABLE_CODE = /^(ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ECONN\w+|ETIMEDOUT|EPIPE)$/;
/** Codes of Node for a server with a certificate that is not trusted. */
const WRONG_CERTIFICATE = /^(CERT|UNABLE_TO|ERROR_IN|DEPTH_ZERO|SELF_SIGNED|ERR_TLS)_\w+$/;
const certificateErrorSchema = z.object({ code: z.string().regex(WRONG_CERTIFICATE) });
const connectionErrorSchema = z.union([z.object({ code: z.string().regex(UNREACHABLE_CODE) }), certificateErrorSchema]);
/** Errors of a Prisma client, of its adapter and of the driver. Prisma wraps the failure of a statement, but not of a commit. */
const failureSchema = z.union([
  z
    .object({ meta: z.object({ driverAdapterError: adapterErrorSchema }) })
    .transform(({ meta }) => meta.driverAdapterError),
  adapterErrorSchema,
  driverErrorSchema.transform(({ code }) => ({ cause: { kind: 'postgres', originalCode: code } })),
  connectionErrorSchema.transform(() => ({ cause: { kind: 'ConnectionClosed', originalCode: undefined } })),
]);

const UNREACHABLE_KINDS = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TlsConnectionError',
  'TooManyConnections',
]);

/** Messages of the driver and of Prisma about a silent server or an ended session. These errors have no code. */
const SILENCE =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|Query read timeout|Unable to start a transaction in the given time|on an expired transaction/;
/** Classes of SQLSTATE: connection exception, insufficient resources, operator intervention. */
const UNREACHABLE_STATES = /^(08|53|57P)/;
/** Classes of SQLSTATE that do not depend on the data: connection, transaction, conflict, schema, resources, lock, intervention, system. */
const OUTER_STATES = /^(08|25|40|42|53|55|57|58)/;
const CONFLICT_STATES = new Set(['40001', '40P01']);
const QUERY_CANCELED = '57014';

function causeOf(error: unknown): { kind: string; state: string } {
  const result = failureSchema.safeParse(error);
  if (!result.success) return { kind: '', state: '' };
  const { kind, originalCode = '' } = result.data.cause;
  return { kind, state: originalCode };
}

/** Returns the SQLSTATE of an error, or an empty string if the error is not from Postgres. */
export const sqlStateOf = (error: unknown): string => causeOf(error).state;

/** True of a deadlock or a serialisation failure. A retry can succeed. */
export const isConflict = (error: unknown): boolean => CONFLICT_STATES.has(sqlStateOf(error));

/** True if Postgres refused the data. A retry fails again. */
export function isRefused(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== '' && !OUTER_STATES.test(state);
}

/** True if Postgres cancelled a statement at its deadline. */
export const isCanceled = (error: unknown): boolean => sqlStateOf(error) === QUERY_CANCELED;

/** True if Postgres cannot be reached: no server, no free connection, a lost connection, or no response in time. */
export function isUnreachable(error: unknown): boolean {
  const { kind, state } = causeOf(error);
  if (kind === '') return error instanceof Error && SILENCE.test(error.message);
  return UNREACHABLE_KINDS.has(kind) || (state !== QUERY_CANCELED && UNREACHABLE_STATES.test(state));
}

/** True if the driver refused the certificate of the server. */
export const isCertificateRefused = (error: unknown): boolean => certificateErrorSchema.safeParse(error).success;
