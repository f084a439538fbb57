import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { isRefusal } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { givenId } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { toUsdCell } from '../report/cells.ts';
import { withAmounts } from '../report/entries.ts';
import { formatTable } from '../report/formatTable.ts';
import type { Services } from '../stack/createServices.ts';

type Call = Awaited<ReturnType<Services['ledger']['getCall']>>;
type Job = Awaited<ReturnType<Services['media']['getJob']>>;

const JOB_ID = /^(video|job)_/;
/** An id that a service of ours made, whose first 48 bits are the time in milliseconds. */
const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i;

export const showCall = defineCommand({
  words: 'calls show',
  summary:
    'one call of any workspace: what became of it and why, and the arithmetic of its charge; ID is its x-request-id or x-router-call-id, the id of its answer, or that of a media job',
  input: z.object({ id: givenId }),
  async run({ id }, { services }) {
    const named = JOB_ID.test(id) ? undefined : await findCall(services, id);
    const job = named?.modality === 'text' ? undefined : await findJob(services, named?.call_id ?? id);
    // A job has its call recorded once it has ended.
    const call = named ?? (job && (await findCall(services, job.call_id)));
    if (!call && !job) throw new RefusedError(describeUnknown(id));
    const document = { call: call ? withAmounts(call) : null, job: job ? withAmounts(job) : null };
    return { document, text: formatTable([...toCallRows(call), ...toJobRows(job)]) };
  },
});

/** Says where the line of a request is that has no row, and when it came if its id shows that. */
function describeUnknown(id: string): string {
  const [, high, low] = UUID_V7.exec(id) ?? [];
  const made = high === undefined ? '' : `, made at ${new Date(Number.parseInt(`${high}${low}`, 16)).toISOString()}`;
  return (
    `No call and no job has this id${made}. A request that was refused has no row: ` +
    `grep ${id} in the access log of the region, which names the fault and the call (docs/runbooks/find-request.md).`
  );
}

const findCall = ({ ledger }: Services, id: string): Promise<Call | undefined> =>
  ledger.getCall({ params: { call_id: id } }).catch((error: unknown) => {
    if (isRefusal(error, usageLedgerApi.routes.getCall, 'call_not_recorded')) return undefined;
    throw error;
  });

const findJob = ({ media }: Services, id: string): Promise<Job | undefined> =>
  media.getJob({ params: { id } }).catch((error: unknown) => {
    if (isRefusal(error, mediaJobsApi.routes.getJob, 'job_not_found')) return undefined;
    throw error;
  });

function toCallRows(call: Call | undefined): string[][] {
  if (!call) return [];
  const tookMs = Date.parse(call.ended_at) - Date.parse(call.started_at);
  return [
    ['call', call.call_id],
    ['request', call.request_id ?? '-'],
    ['trace', call.trace_id ?? 'not traced'],
    ['workspace', call.workspace_id],
    ['key', call.key_id],
    ['model', call.canonical_model],
    ['served by', call.model],
    ['operation', `${call.operation}${call.is_stream ? ', streamed' : ''}`],
    ['status', call.reason === null ? call.status : `${call.status}: ${call.reason}`],
    ['began', call.started_at],
    ['took', `${tookMs} ms; recorded ${call.recorded_at}`],
    ['used', toUse(call)],
    ['held', `${toUsdCell(call.hold_nano_usd)} USD`],
    ['charged', `${toUsdCell(call.charge_nano_usd)} USD, at the prices of catalog version ${call.price_version}`],
    ...(call.cost ?? []).map((line) => ['', toLine(line)]),
    ...(call.cost === null ? [['', 'the prices of that version cannot be read, or do not give this charge']] : []),
  ];
}

const toUse = (call: Call): string =>
  call.units === null
    ? `${call.prompt_tokens} prompt tokens, ${call.cached_prompt_tokens} of them cached; ${call.completion_tokens} completion tokens`
    : `${call.units}, billed by the ${call.billing_unit}`;

/** `12 completion_tokens × 0.0000005 USD = 6000 nano-dollars`. */
function toLine({
  item,
  quantity,
  unit_price_usd: price,
  per,
  amount_nano_usd: amount,
}: NonNullable<Call['cost']>[number]): string {
  if (quantity === null) return `${item}: ${amount} nano-dollars`;
  return `${quantity} ${item} × ${price} USD${per === null || per === 1 ? '' : ` ÷ ${per}`} = ${amount} nano-dollars`;
}

function toJobRows(job: Job | undefined): string[][] {
  if (!job) return [];
  return [
    ['job', job.id],
    ['workspace', job.workspace_id],
    ['state', job.error_code === null ? job.state : `${job.state}: ${job.error_code}`],
    ['backend', `${job.backend ?? '-'}; ${job.attempts === 1 ? 'one attempt' : `${job.attempts} attempts`}`],
    ['asked for', job.created_at],
    ['work began', job.begun_at ?? '-'],
    ['work ended', job.ended_at ?? `-, at the latest ${job.deadline_at}`],
    ['settled', job.settled_at ?? '-'],
  ];
}
