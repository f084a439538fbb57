import type { Board } from './board.ts';
import { growth, medianAndTail, perSecond } from './promql.ts';

export const mediaBoard: Board = {
  id: 'media',
  title: 'Turnpike: media',
  variables: [
    { label: 'model', metric: 'turnpike_jobs' },
    { label: 'backend', metric: 'turnpike_backend_state' },
  ],
  rows: [
    {
      title: 'Jobs',
      panels: [
        {
          title: 'Jobs by state',
          unit: 'short',
          says: 'Of the region. Unsettled: ended, and not charged yet.',
          lines: [
            { expr: 'max by (state) (sum by (state, instance) (turnpike_jobs{model=~"$model"}))', legend: '{{state}}' },
          ],
        },
        {
          title: 'Queue by model',
          unit: 'short',
          says: 'Jobs that wait for their turn.',
          lines: [{ expr: 'max by (model) (turnpike_jobs{state="queued", model=~"$model"})', legend: '{{model}}' }],
        },
        {
          title: 'Oldest in the queue',
          unit: 's',
          says: 'They fail after an hour, clips after two.',
          lines: [
            {
              expr: 'max by (model) (turnpike_job_oldest_seconds{state="queued", model=~"$model"})',
              legend: '{{model}}',
            },
          ],
        },
        {
          title: 'Endings',
          unit: 'reqps',
          says: 'Completed, cancelled, or why they failed.',
          lines: [{ expr: perSecond('turnpike_jobs_ended_total{model=~"$model"}', 'ending'), legend: '{{ending}}' }],
        },
        {
          title: 'From making to end',
          unit: 's',
          says: 'Of jobs that completed, with their wait.',
          lines: medianAndTail('turnpike_job_duration_seconds', 'operation', '{model=~"$model"}'),
        },
        {
          title: 'Wait for the first turn',
          unit: 's',
          says: 'Of jobs that had one.',
          lines: medianAndTail('turnpike_job_wait_seconds', 'model', '{model=~"$model"}'),
        },
      ],
    },
    {
      title: 'Backends',
      panels: [
        {
          title: 'State',
          unit: 'short',
          says: '0: takes work, 1: has not answered yet, 2: out.',
          lines: [{ expr: 'max by (backend) (turnpike_backend_state{backend=~"$backend"})', legend: '{{backend}}' }],
        },
        {
          title: 'Slots',
          unit: 'short',
          says: 'That jobs of the region have, and that there are.',
          lines: [
            { expr: 'max by (backend) (turnpike_backend_slots_used{backend=~"$backend"})', legend: '{{backend}}' },
            { expr: 'max by (backend) (turnpike_backend_slots{backend=~"$backend"})', legend: '{{backend}} has' },
          ],
        },
        {
          title: 'Calls answered as they run',
          unit: 'short',
          says: 'Speech and transcripts that clients wait for.',
          lines: [{ expr: 'sum by (backend) (turnpike_backend_calls{backend=~"$backend"})', legend: '{{backend}}' }],
        },
        {
          title: 'Attempts by result',
          unit: 'reqps',
          says: 'What came of them, of jobs and calls.',
          lines: [
            { expr: perSecond('turnpike_backend_attempts_total{backend=~"$backend"}', 'result'), legend: '{{result}}' },
          ],
        },
        {
          title: 'Attempts that made nothing',
          unit: 'reqps',
          says: 'By backend; cancelled ones left out.',
          lines: [
            {
              expr: perSecond(
                'turnpike_backend_attempts_total{result!~"made|cancelled", backend=~"$backend"}',
                'backend, result',
              ),
              legend: '{{backend}} {{result}}',
            },
          ],
        },
        {
          title: 'Removed as nobody’s',
          unit: 'short',
          says: 'Backends’ jobs that no row names, and objects of no job.',
          lines: [
            {
              expr: growth('turnpike_orphans_removed_total{backend=~"$backend"}', '1h', 'backend'),
              legend: '{{backend}}',
            },
            { expr: growth('turnpike_strays_removed_total', '1h'), legend: 'objects' },
          ],
        },
      ],
    },
    {
      title: 'Uploads and decoding',
      panels: [
        {
          title: 'Decoder',
          unit: 'short',
          says: 'Files that are decoded, wait for that, and speech that is converted as it comes.',
          lines: [
            { expr: 'sum by (state) (turnpike_decodings)', legend: '{{state}}' },
            { expr: 'sum(turnpike_decoder_slots)', legend: 'slots' },
          ],
        },
        {
          title: 'Turned away',
          unit: 'reqps',
          says: 'Uploads and speech for which there was no room to decode.',
          lines: [{ expr: perSecond('turnpike_decoder_refusals_total'), legend: 'refusals' }],
        },
        {
          title: 'Uploads',
          unit: 'percentunit',
          says: 'Part of the disk that uploads may take, of the fullest process.',
          lines: [{ expr: 'max(turnpike_upload_bytes / turnpike_upload_limit_bytes)', legend: 'bytes' }],
        },
      ],
    },
    {
      title: 'What was made',
      panels: [
        {
          title: 'Bytes stored and removed',
          unit: 'Bps',
          says: 'In the object store.',
          lines: [
            { expr: perSecond('turnpike_object_stored_bytes_total', 'of'), legend: '{{of}} stored' },
            { expr: perSecond('turnpike_object_removed_bytes_total', 'of'), legend: '{{of}} removed' },
          ],
        },
        {
          title: 'Store that fails',
          unit: 'reqps',
          says: 'Outputs that it did not take, and files that it did not remove: tried again.',
          lines: [{ expr: perSecond('turnpike_object_store_failures_total'), legend: 'failures' }],
        },
        {
          title: 'Overdue',
          unit: 'short',
          says: 'Nothing, where all works. Removal: 36 hours after the end of a clip.',
          lines: [{ expr: 'max by (lacks) (turnpike_jobs_overdue)', legend: '{{lacks}}' }],
        },
        {
          title: 'Units',
          unit: 'short',
          says: 'What was measured and is charged: images, characters, seconds.',
          lines: [{ expr: perSecond('turnpike_units_total{model=~"$model"}', 'unit'), legend: '{{unit}}' }],
        },
      ],
    },
  ],
};
