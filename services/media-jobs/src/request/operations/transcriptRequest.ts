import { transcriptionFieldsSchema, translationFieldsSchema } from '@turnpike/public-api/transcriptionRequest';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import type { TranscriptRequest } from '../../terms/mediaRequest.ts';
import type { Form } from '../form/readForm.ts';
import { toFormValue } from '../form/toFormValue.ts';
import { digestOf, type MediaDraft } from '../mediaDraft.ts';
import { capabilitiesFor, languageOf } from '../models/modelRules.ts';

/** Name of a list in a form. */
const GRANULARITIES = 'timestamp_granularities[]';

type Operation = TranscriptRequest['operation'];

const KINDS = { numbers: ['temperature'], booleans: ['stream', 'async'], lists: ['timestamp_granularities'] };
const readTranscription = createFieldReader(transcriptionFieldsSchema);
const readTranslation = createFieldReader(translationFieldsSchema);

/** The fields of either operation: translations have fewer. */
function readFields(operation: Operation, value: unknown): ReturnType<typeof readTranscription> {
  return operation === 'audio.transcriptions'
    ? readTranscription(value)
    : {
        ...readTranslation(value),
        language: undefined,
        timestamp_granularities: undefined,
        stream: undefined,
        chunking_strategy: undefined,
        include: undefined,
      };
}

/** Checks the parts of a form. Throws `invalid_request`. */
export function draftTranscriptRequest(
  operation: Operation,
  { texts, files }: Form,
): Omit<MediaDraft<TranscriptRequest>, 'refused' | 'discard'> {
  const value = toFormValue({ texts }, KINDS);
  if (value.file !== undefined) throw invalidRequest('file', 'file must be a file');
  const file = files.get('file');
  if (!file) throw invalidRequest('file', 'file is required');
  if (file.bytes === 0) throw invalidRequest('file', 'file must not be empty');

  const fields = readFields(operation, value);
  const { prompt, temperature, timestamp_granularities: granularities } = fields;
  const responseFormat = fields.response_format ?? 'json';
  const isStream = fields.stream ?? false;
  const isAsync = fields.async ?? false;
  if (granularities && responseFormat !== 'verbose_json')
    throw invalidRequest(GRANULARITIES, `${GRANULARITIES} is only for response_format verbose_json`);
  if (isStream && responseFormat !== 'json' && responseFormat !== 'text')
    throw invalidRequest('stream', 'stream is only for response_format json or text');
  if (isStream && isAsync) throw invalidRequest('stream', 'stream cannot be asked for together with async');
  return {
    model: fields.model,
    digest: digestOf(operation, fields, file.sha256),
    forModel(model) {
      const can = capabilitiesFor(operation, model);
      const { timestamps = ['segment'] } = can;
      const language = languageOf(fields.language, can);
      const times: TranscriptRequest['granularities'] = granularities?.length
        ? [...new Set(granularities)]
        : ['segment'];
      if (responseFormat !== 'json' && responseFormat !== 'text' && timestamps.length === 0)
        throw invalidRequest('response_format', 'response_format must be json or text: this model gives no times');
      if (times.includes('word') && !timestamps.includes('word'))
        throw invalidRequest(GRANULARITIES, `${GRANULARITIES} must be segment: this model times segments, not words`);
      return {
        operation,
        model: model.id,
        file,
        ...(language !== undefined && { language }),
        ...(prompt !== undefined && prompt !== '' && { prompt }),
        ...(temperature !== undefined && { temperature }),
        responseFormat,
        granularities: times,
        isStream,
        isAsync,
      };
    },
  };
}
