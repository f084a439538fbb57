import type { Warning } from '@turnpike/http-service/healthRoutes';
import type { Backends } from './createBackends.ts';

/**
 * Lists problems for the operator: a refused backends file, and models without a backend that takes work. A backend is
 * listed from its first missed check until it is left out, and while it hangs.
 */
export function listBackendWarnings(backends: Pick<Backends, 'list' | 'fileFault'>): Warning[] {
  const file = backends.fileFault();
  const listed = backends.list();
  const byModel = Map.groupBy(listed, ({ replica }) => replica.model);
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
    ...listed
      .filter(({ state, hasMissedCheck }) => hasMissedCheck && state !== 'out')
      .map(({ replica: { id } }) => ({
        kind: 'backend_silent' as const,
        subject: id,
        text: `media backend ${id} did not answer its last check`,
      })),
    ...listed
      .filter(({ state, isHung }) => isHung && state === 'ready')
      .map(({ replica: { id } }) => ({
        kind: 'backend_hung' as const,
        subject: id,
        text: `media backend ${id} answers its checks and gives nothing for its work: it hangs or is slow`,
      })),
  ];
}
