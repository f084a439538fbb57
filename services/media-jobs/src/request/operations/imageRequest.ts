import { imageRequestSchema } from '@turnpike/public-api/imageRequest';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import type { ImageRequest } from '../../terms/mediaRequest.ts';
import { digestOf, type MediaDraft } from '../mediaDraft.ts';
import { capabilitiesFor, oneOf, sizeOf } from '../models/modelRules.ts';

const OPERATION = 'images.generations';
const FORMATS = ['png', 'jpeg', 'webp'] as const;
const readFields = createFieldReader(imageRequestSchema);

/** Checks the fields of a body. Throws `invalid_request`. */
export function draftImageRequest(value: unknown): Omit<MediaDraft<ImageRequest>, 'refused' | 'discard'> {
  const fields = readFields(value);
  const isAsync = fields.async ?? false;
  const isStream = fields.stream ?? false;
  if (isAsync && isStream) throw invalidRequest('stream', 'stream cannot be asked for together with async');
  return {
    model: fields.model,
    digest: digestOf(OPERATION, fields),
    forModel(model) {
      const can = capabilitiesFor(OPERATION, model);
      const n = fields.n ?? 1;
      const most = can.maxImages ?? 1;
      if (n > most) throw invalidRequest('n', `n must be at most ${most} for this model, not ${n}`);
      const outputFormat = oneOf('output_format', fields.output_format, {
        allowed: FORMATS.filter((format) => can.outputFormats?.includes(format)),
        byDefault: 'png',
      });
      const { output_compression: outputCompression } = fields;
      // The only quality of a PNG is lossless.
      if (outputFormat === 'png' && (outputCompression ?? 100) < 100)
        throw invalidRequest('output_compression', 'output_compression is for jpeg and webp');
      return {
        operation: OPERATION,
        model: model.id,
        prompt: fields.prompt,
        n,
        size: sizeOf(fields.size, can),
        outputFormat,
        ...(outputCompression !== undefined && { outputCompression }),
        responseFormat: fields.response_format ?? 'b64_json',
        ...(fields.quality !== undefined && { quality: fields.quality }),
        ...(fields.style !== undefined && { style: fields.style }),
        ...(fields.background !== undefined && { background: fields.background }),
        isAsync,
        isStream,
      };
    },
  };
}
