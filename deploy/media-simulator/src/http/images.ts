import { bendOutput } from '../faults/bendOutput.ts';
import { drawImage } from '../outputs/marks.ts';
import type { DrawnImage, ImageRequest } from '../personalities/personality.ts';
import { type Answer, bytesAnswer, jsonAnswer } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { type Call, dialectOf, readContext, stopWhenLeft, untilRendered } from './call.ts';

/** POST /v1/images/generations: waits for its turn and its render. */
export async function createImages(call: Call): Promise<Answer> {
  const { replica, entry, fault, body } = call;
  const dialect = dialectOf(replica.personality.images);
  const request = dialect.read(body, readContext(call));
  const { prompt, count, width, height, steps } = request;
  const id = replica.newId();
  const drawing = draw(call, request, id);
  let drawn: Buffer[] = [];
  const render = replica.render({
    request: entry,
    fault,
    operation: 'image',
    prompt,
    units: { images: count, width, height, steps },
    steps: steps * count,
    async produce() {
      drawn = await drawing;
      return drawn;
    },
  });
  if (dialect.whenClientLeaves === 'aborts') stopWhenLeft(call, render);
  await untilRendered(render);

  if (request.delivery === 'file') return bytesAnswer(drawn[0] ?? Buffer.alloc(0), `image/${request.format}`);
  const images = await Promise.all(drawn.map((bytes, index) => keep(call, request, { id, index, bytes })));
  return jsonAnswer(dialect.toBody(images, request, { id, created: replica.unixSeconds() }));
}

/** GET /v1/images/{id}/content: the file behind a `url`. */
export async function getImageContent({ replica, id, query }: Call): Promise<Answer> {
  dialectOf(replica.personality.images);
  const index = query.get('variant') ?? '0';
  const file = replica.files.list().find(({ name }) => name.startsWith(`${id}_${index}.`));
  const bytes = file && (await replica.files.read(file.name));
  if (!bytes) throw new EngineError(404, 'Image not found');
  return bytesAnswer(bytes, `image/${file.name.split('.').at(-1)}`);
}

/** All images of a request, each another. Without a seed one is drawn, as engines do. */
async function draw({ replica, fault }: Call, request: ImageRequest, id: string): Promise<Buffer[]> {
  const { prompt, seed, width, height, format } = request;
  const isOther = fault?.kind === 'output_other_size';
  const count = fault?.kind === 'fewer_images' ? request.count - 1 : request.count;
  const images = Array.from({ length: count }, (_, index) =>
    drawImage(
      JSON.stringify([replica.model, prompt, seed ?? id, index]),
      isOther ? Math.ceil(width / 2) : width,
      height,
      format,
    ),
  );
  return (await Promise.all(images)).map((bytes) => bendOutput(bytes, fault?.kind, { prompt }));
}

async function keep(
  { replica }: Call,
  { format, delivery }: ImageRequest,
  { id, index, bytes }: { id: string; index: number; bytes: Buffer },
): Promise<DrawnImage> {
  if (delivery === 'url') await replica.files.save(`${id}_${index}.${format}`, bytes);
  return { bytes, format, path: `/v1/images/${id}/content${index > 0 ? `?variant=${index}` : ''}` };
}
