import { z } from 'zod';

const adapterErrorSchema = z.object({ cause: z.object({ kind: z.string(), originalCode: z.string().optional() }) });
/** What Postgres said, as the driver gives it where Prisma is not in between. */
const driverErrorSchema = z.object({ severity: z.string(), code: z.string() });
/** Nobody there, or not any more, or no way to find out. */
const NOBODY = /^(ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ECONN\w+|ETIMEDOUT|EPIPE)$/;
/** Somebody whose certificate does not do. */
const WRONG_CERTIFICATE = /^(CERT|UNABLE_TO|ERROR_IN|DEPTH_ZERO|SELF_SIGNED|ERR_TLS)_\w+$/;
const certificateErrorSchema = z.object({ code: z.string().regex(WRONG_CERTIFICATE) });
const connectionErrorSchema = z.union([z.object({ code: z.string().regex(NOBODY) }), certificateErrorSchema]);
/** A statement's failure comes wrapped by Prisma, that of a transaction's begin or commit as it is. */
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

/** The messages of the driver and Prisma about a server that is silent, or has ended the session: neither gives them a code. */
const SILENCE =
  /Connection terminated|is not queryable|timeout exceeded when trying to connect|Query read timeout|Unable to start a transaction in the given time/;
/** Connection exceptions, too few resources, the server being stopped or started. */
const UNREACHABLE_STATES = /^(08|53|57P)/;
/** Failures that are not of the data: connection, transaction state, conflict, schema and rights, resources, lock, intervention, system. */
const OUTER_STATES = /^(08|25|40|42|53|55|57|58)/;
const CONFLICT_STATES = new Set(['40001', '40P01']);
const QUERY_CANCELED = '57014';

function causeOf(error: unknown): { kind: string; state: string } {
  const result = failureSchema.safeParse(error);
  if (!result.success) return { kind: '', state: '' };
  const { kind, originalCode = '' } = result.data.cause;
  return { kind, state: originalCode };
}

/** The five characters by which Postgres names what went wrong, empty when it was not Postgres that spoke. */
export const sqlStateOf = (error: unknown): string => causeOf(error).state;

/** Whether a transaction lost against another and is worth another try. */
export const isConflict = (error: unknown): boolean => CONFLICT_STATES.has(sqlStateOf(error));

/** Whether Postgres refused what it was given, and would refuse it every time. */
export function isRefused(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== '' && !OUTER_STATES.test(state);
}

/** Whether Postgres ended a statement that ran past its allowance. */
export const isCanceled = (error: unknown): boolean => sqlStateOf(error) === QUERY_CANCELED;

/** Whether there was no Postgres to answer: nobody there, no connection to be had, or no word within the deadlines. */
export function isUnreachable(error: unknown): boolean {
  const { kind, state } = causeOf(error);
  if (kind === '') return error instanceof Error && SILENCE.test(error.message);
  return UNREACHABLE_KINDS.has(kind) || (state !== QUERY_CANCELED && UNREACHABLE_STATES.test(state));
}

/** Whether the driver turned away from whoever answered, as its certificate does not do. */
export const isCertificateRefused = (error: unknown): boolean => certificateErrorSchema.safeParse(error).success;
