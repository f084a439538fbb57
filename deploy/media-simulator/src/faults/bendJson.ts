import type { FaultKind } from './fault.ts';

type Members = Record<string, unknown>;
const HUGE_LIST = 10_000;

/** Applies a fault to an answer in JSON. */
export function bendJson(json: object, kind: FaultKind | undefined): object {
  switch (kind) {
    case 'progress_101':
      return eachJob(json, (job) => ({ ...job, progress: 101 }));
    case 'progress_null':
      return eachJob(json, (job) => ({ ...job, progress: null }));
    case 'progress_text':
      return eachJob(json, (job) => ({ ...job, progress: 'almost done' }));
    case 'status_unknown':
      return eachJob(json, (job) => ({ ...job, status: 'post_processing' }));
    case 'list_of_10000':
      return { ...json, data: [...dataOf(json), ...strangers(HUGE_LIST - dataOf(json).length)], has_more: false };
    case 'usage_missing':
      return withoutUsage(json);
    case 'usage_negative':
      return { ...json, usage: { type: 'duration', seconds: -7 } };
    case 'usage_text':
      return { ...json, usage: { type: 'duration', seconds: 'seven' } };
    case 'duration_negative':
      return withDuration(json, (given) => (typeof given === 'string' ? `-${given}` : -Number(given)));
    case 'duration_other_form':
      return withDuration(json, (given) => (typeof given === 'string' ? Number(given) : String(given)));
    default:
      return json;
  }
}

function withoutUsage(json: object): object {
  const { usage: _usage, ...rest } = json as Members;
  return rest;
}

const withDuration = (json: object, bend: (given: unknown) => unknown): object =>
  'duration' in json ? { ...json, duration: bend(json.duration) } : json;

const dataOf = (json: object): Members[] => ('data' in json && Array.isArray(json.data) ? json.data : []);

/** Applies a function to one job, or to each job of a list. */
function eachJob(json: object, bend: (job: Members) => Members): object {
  return 'data' in json ? { ...json, data: dataOf(json).map(bend) } : bend({ ...json });
}

/** Finished jobs that nobody here made. */
function strangers(count: number): Members[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `video_gen_${String(index).padStart(32, '0')}`,
    object: 'video',
    model: 'another-model',
    prompt: 'another prompt',
    status: 'completed',
    progress: 100,
    created_at: index,
    completed_at: index,
    seconds: '4',
    error: null,
  }));
}
