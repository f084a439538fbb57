import { until } from '@turnpike/test-support/until';
import type { TestReplica } from './testReplica.ts';

/** A job's body, as loosely as tests look at it. */
export interface JobBody {
  id: string;
  status: string;
  created_at: number;
  progress?: unknown;
  error?: unknown;
}

export async function createJob(replica: TestReplica, fields: Record<string, string | Blob>): Promise<JobBody> {
  const response = await replica.postForm('/v1/videos', fields);
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as JobBody;
}

export async function getJob(replica: TestReplica, id = ''): Promise<{ status: number; body: JobBody }> {
  const response = await replica.get(`/v1/videos/${id}`);
  return { status: response.status, body: (await response.json()) as JobBody };
}

/** The job once it is completed; rejects when it is not to be. */
export function completed(replica: TestReplica, id = ''): Promise<JobBody> {
  return until(`job ${id}`, async () => {
    const { body } = await getJob(replica, id);
    if (body.status === 'failed') throw new Error(JSON.stringify(body.error));
    return body.status === 'completed' && body;
  });
}
