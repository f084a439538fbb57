import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { PersonalityName } from '@turnpike/media-simulator/personalities';
import type { StackPorts } from '../stackPorts.ts';
import type { PortOf } from '../toServiceEnvironments.ts';

/** A simulated media backend: one replica, with one model. */
export interface MediaBackend {
  /** The routing target: what a usage row names as `model`. */
  id: string;
  personality: PersonalityName;
  /** The name in the backends file of the engine that it simulates. */
  engine: string;
  model: string;
  port: number;
  adminPort: number;
  dataDir: string;
  voices: string[] | undefined;
}

/** The backends that simulate a stack's media models. */
export function toMediaBackends(
  models: CatalogModel[],
  { ports, dataDir }: { ports: StackPorts; dataDir: string },
): MediaBackend[] {
  return models.flatMap((model, index) =>
    (ports.media[index] ?? []).map((listeners, replica) => ({
      id: `media-${replica + 1}/${model.id}`,
      ...toEngine(model),
      model: model.id,
      ...listeners,
      dataDir: join(dataDir, `${model.id}-${replica + 1}`),
      voices: model.media?.capabilities.voices,
    })),
  );
}

function toEngine({ category, inputModalities, media }: CatalogModel): Pick<MediaBackend, 'personality' | 'engine'> {
  if (category !== 'audio') return { personality: 'vllm-omni-2026', engine: 'vllm-omni' };
  if (inputModalities.includes('audio')) {
    const engine = media?.capabilities.timestamps?.includes('word') ? 'speaches' : 'vllm-asr';
    return { personality: engine, engine };
  }
  return { personality: 'kokoro', engine: 'kokoro' };
}

/** Writes the backends file of media-jobs. */
export async function writeMediaBackendsFile(
  file: string,
  backends: MediaBackend[],
  { portOf }: { portOf: PortOf },
): Promise<void> {
  const entries = backends.map(({ id, engine, model, port }) => ({
    id,
    url: `http://127.0.0.1:${portOf('media-jobs', port)}`,
    engine,
    model,
    slots: 1,
  }));
  await writeFile(file, `${JSON.stringify({ backends: entries }, null, 2)}\n`);
}
