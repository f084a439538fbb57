import type { Warning } from '@turnpike/http-service/healthRoutes';
import type { Backends } from './createBackends.ts';

/** Lists what an operator has to look at: a refused backends file, and models for which no backend takes work. */
export function listBackendWarnings(backends: Pick<Backends, 'list' | 'fileFault'>): Warning[] {
  const file = backends.fileFault();
  const byModel = Map.groupBy(backends.list(), ({ replica }) => replica.model);
  return [
    ...(file
      ? [
          {
            kind: 'file_refused' as const,
            subject: 'MEDIA_BACKENDS_FILE',
            text: `${file.reason}; since ${file.since.toISOString()} the last good one is in force`,
          },
        ]
      : []),
    ...Array.from(byModel).flatMap(([model, of]) =>
      of.some(({ replica, state }) => state === 'ready' && !replica.draining)
        ? []
        : [
            {
              kind: 'model_without_backend' as const,
              subject: model,
              text: `none of ${of.length} backends of ${model} takes work`,
            },
          ],
    ),
  ];
}
