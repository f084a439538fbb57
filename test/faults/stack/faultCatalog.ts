import type { Region } from '@turnpike/config/region';
import type { MediaModels } from './mediaModels.ts';

/** The models of a fault stack. Prices with fractions of a nano-dollar, so that rounding shows. */
export const MODELS = ['fault-small', 'fault-large'] as const;

/** The media models of a fault stack, one of each kind, with what a unit costs: with fractions of a nano-dollar as well. */
export const MEDIA_MODELS = {
  // Small pictures and clips, so that two cores can make many of them.
  image: { id: 'fault-image', unit: 'image', unitPrice: '0.0000123455', size: '256x256' },
  video: { id: 'fault-video', unit: 'second', unitPrice: '0.0000071235', size: '160x96', seconds: [1, 2] },
  speech: { id: 'fault-speech', unit: 'character', unitPrice: '0.0000001235' },
  transcript: { id: 'fault-transcript', unit: 'minute', unitPrice: '0.0000123451' },
} as const satisfies MediaModels;

const MEDIA_LINES: Record<keyof typeof MEDIA_MODELS, string> = {
  image: `    category: image
    output_modalities: [image]
    capabilities: { sizes: [${MEDIA_MODELS.image.size}], output_formats: [png, jpeg, webp], max_images: 4 }`,
  video: `    category: video
    input_modalities: [text, image]
    output_modalities: [video]
    capabilities: { sizes: [${MEDIA_MODELS.video.size}], seconds: [${MEDIA_MODELS.video.seconds.join(', ')}], fps: 8, steps: 10 }`,
  speech: `    category: audio
    output_modalities: [audio]
    capabilities: { voices: [af_heart], output_formats: [mp3, opus, aac, flac, wav, pcm] }`,
  transcript: `    category: audio
    input_modalities: [audio]
    capabilities: { max_minutes: 10 }`,
};

/** A catalog file of a region whose text prices follow from `turn`: another turn is another version. */
export function toCatalogText(turn = 0, region: Region = 'us'): string {
  const entries = MODELS.map((id, index) => {
    const factor = (index + 1) * (turn + 1);
    return `  - id: ${id}
    name: ${id}
    hugging_face_id: faults/${id}
    category: text
    quantization: bf16
    context_length: 8192
    max_output_length: 4096
    pricing: { prompt: "${price(155 * factor)}", completion: "${price(2_055 * factor)}", input_cache_read: "${price(25 * factor)}", request: "0", image: "0", web_search: "0", internal_reasoning: "0" }
    clearance: [${region}]
    supported_features: [tools]
    supported_parameters: [max_tokens, temperature, stream]
    supported_sampling_parameters: [temperature, max_tokens]
    template_tokens_per_message: 4
    template_tokens_per_request: 3
    created: 2026-01-01
`;
  });
  return `region: ${region}\nmodels:\n${[...entries, ...toMediaEntries(region)].join('\n')}`;
}

const toMediaEntries = (region: Region): string[] =>
  Object.entries(MEDIA_MODELS).map(
    ([kind, { id, unit, unitPrice }]) => `  - id: ${id}
    name: ${id}
    hugging_face_id: faults/${id}
${MEDIA_LINES[kind as keyof typeof MEDIA_MODELS]}
    quantization: bf16
    context_length: 512
    max_output_length: 1
    billing_unit: ${unit}
    unit_price: "${unitPrice}"
    clearance: [${region}]
    supported_parameters: []
    supported_sampling_parameters: []
    cache_capable: false
    template_tokens_per_message: 0
    template_tokens_per_request: 0
    created: 2026-01-01
`,
  );

/** An integer count of 1e-10 USD as the catalog writes it. */
function price(count: number): string {
  return `0.${String(count).padStart(10, '0')}`;
}
