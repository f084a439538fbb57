import { Group, NativeSelect, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { JOB_STATUSES, jobsConsoleApi } from '@turnpike/console-api/console/jobs';
import { PAGES } from '@turnpike/console-api/pages';
import type * as z from 'zod/mini';
import { callConsole } from '../console.ts';
import { useKeyNames } from '../keys/useKeyNames.ts';
import { toCurl } from '../models/firstCall.ts';
import { kindOf, modelsQuery } from '../models/readModels.ts';
import { Older } from '../shell/Older.tsx';
import { Snippet } from '../shell/Snippet.tsx';
import { Badge, Empty, Loaded, Moment, Name, Page } from '../shell/states.tsx';
import { WideTable } from '../shell/WideTable.tsx';
import { useWorkspace } from '../shell/workspace.tsx';
import { toExactUsd } from '../usd.ts';

const { routes } = jobsConsoleApi;
type Job = z.output<typeof routes.listJobs.answer>['jobs'][number];
type Status = Job['status'];

const STATUS_NAMES: Record<Status, string> = {
  queued: 'Queued',
  in_progress: 'In progress',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
};
/** The time after which jobs that have not ended are read again. */
const LIVE_MS = 5_000;

/** The media jobs of a workspace, the newest first, without their content. */
export function Jobs() {
  const workspace = useWorkspace();
  const navigate = useNavigate({ from: PAGES.jobs });
  const { status } = useSearch({ from: `/shell/workspace${PAGES.jobs}` });
  const query = useInfiniteQuery({
    queryKey: ['jobs', workspace.workspaceId, status],
    queryFn: ({ pageParam: after }) => callConsole(workspace, routes.listJobs, { params: { after, status } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_after: next }) => next ?? undefined,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ jobs }) => jobs.some((job) => job.ended_at === null)) ? LIVE_MS : false,
  });
  return (
    <Page title="Jobs">
      <Group>
        <NativeSelect
          label="Status"
          data={[{ value: '', label: 'All' }, ...JOB_STATUSES.map((value) => ({ value, label: STATUS_NAMES[value] }))]}
          value={status ?? ''}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ search: { status: JOB_STATUSES.find((name) => name === value) } })
          }
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const jobs = pages.flatMap((page) => page.jobs);
          if (jobs.length === 0 && status === undefined && !query.hasNextPage) return <FirstJob />;
          return (
            <>
              {jobs.length > 0 && <JobTable jobs={jobs} />}
              {jobs.length === 0 && (
                <Text role="status">
                  {query.hasNextPage
                    ? 'No job of this status is among the newest. Look at older ones.'
                    : 'No job has this status. Choose another one.'}
                </Text>
              )}
              <Older query={query}>Show older jobs</Older>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** The call that makes a first image, since no job is there yet. */
function FirstJob() {
  const { consoleUrl, baseUrl, region } = useWorkspace();
  const models = useQuery(modelsQuery(consoleUrl));
  const model = models.data?.find((each) => kindOf(each) === 'images' && each.is_ready);
  return (
    <Empty>
      <Text>
        This workspace has no media job yet. Calls for videos make jobs, and so do calls for images and audio that do
        not wait.
      </Text>
      {model ? (
        <>
          <Text>This call makes a first image. Replace sk-... by the secret of a key.</Text>
          <Snippet label="First image" text={toCurl(model, { baseUrl, secret: 'sk-...' }, { async: true })} />
        </>
      ) : (
        <Text>This region has no ready model of images at the moment.</Text>
      )}
      <Link to={PAGES.models} search={{ region }} className="link">
        Models and prices of this region
      </Link>
    </Empty>
  );
}

function JobTable({ jobs }: { jobs: Job[] }) {
  const { organizationId, workspaceId } = useWorkspace();
  const keyNames = useKeyNames(jobs.map(({ key_id: keyId }) => keyId));
  return (
    <WideTable label="Jobs" columns={['Model', 'Status', 'Key', 'Created', 'Took', 'Amount', 'Cost', 'Id']}>
      {jobs.map((job) => (
        <tr key={job.job_id}>
          <td>
            <Name>{job.model}</Name>
            <Text size="sm" c="dimmed">
              {job.operation}
            </Text>
          </td>
          <td>
            <Badge>
              {STATUS_NAMES[job.status]}
              {job.status === 'in_progress' && `, ${job.progress} %`}
            </Badge>
            {job.error_code !== null && <Text size="sm">{job.error_code}</Text>}
          </td>
          <td className="who">
            <Name>{keyNames(job.key_id)}</Name>
          </td>
          <td>
            <Moment at={job.created_at} />
          </td>
          <td className="short">{toTook(job)}</td>
          <td className="short">{toAmount(job)}</td>
          <td className="short">
            {job.charge_nano_usd === null ? (
              'Not yet'
            ) : (
              <Link
                to={PAGES.requests}
                params={{ organizationId, workspaceId }}
                search={{ id: job.call_id }}
                className="link"
                aria-label={`$${toExactUsd(BigInt(job.charge_nano_usd))}, the cost of ${job.job_id}`}
              >
                ${toExactUsd(BigInt(job.charge_nano_usd))}
              </Link>
            )}
          </td>
          <td className="short">{job.job_id}</td>
        </tr>
      ))}
    </WideTable>
  );
}

const SECONDS = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** The time from the creation of a job to its end, its wait in the queue included. */
function toTook({ created_at: created, ended_at: ended }: Job): string {
  if (ended === null) return 'Not yet';
  return `${SECONDS.format((Date.parse(ended) - Date.parse(created)) / 1_000)} s`;
}

/** Counted units. A price per minute counts seconds. */
function toAmount({ units, billing_unit: unit }: Job): string {
  if (units === null) return 'Not yet';
  const counted = unit === 'minute' ? 'second' : unit;
  return `${SECONDS.format(units)} ${counted}${units === 1 ? '' : 's'}`;
}
