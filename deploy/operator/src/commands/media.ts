import { type Command, defineList } from '../cli/command.ts';

export const listOverdueJobs = defineList({
  words: 'media overdue',
  summary: 'media jobs of which something is overdue: end, settlement, backend, removal; exit code 1 if there is one',
  name: 'jobs',
  ifNone: 'No media job lacks anything.',
  read: async (_input, { services }) => (await services.media.listOverdueJobs()).jobs,
  columns: { job: 'id', kind: 'modality', ended: 'ended_at', lacks: 'lacks' },
  isFailure: true,
});

export const mediaCommands: Command[] = [
  defineList({
    words: 'media backends',
    summary:
      'the media backends as the process that answers sees them; the backends file drains one by "draining": true',
    name: 'backends',
    ifNone: 'There are no media backends.',
    read: async (_input, { services }) => (await services.media.listBackends()).backends,
    columns: {
      id: 'id',
      state: ({ state, is_draining: isDraining }) => (isDraining ? `${state}, draining` : state),
      model: 'model',
      engine: 'engine',
      slots: 'slots',
      address: 'url',
    },
  }),
  listOverdueJobs,
];
