/** The models of a fault stack. Prices with fractions of a nano-dollar, so that rounding shows. */
export const MODELS = ['fault-small', 'fault-large'] as const;

/** A catalog file whose prices follow from `turn`: another turn is another version. */
export function toCatalogText(turn = 0): string {
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
    clearance: [us]
    supported_features: []
    supported_parameters: [max_tokens, temperature, stream]
    supported_sampling_parameters: [temperature, max_tokens]
    template_tokens_per_message: 4
    template_tokens_per_request: 3
    created: 2026-01-01
`;
  });
  return `region: us\nmodels:\n${entries.join('\n')}`;
}

/** An integer count of 1e-10 USD as the catalog writes it. */
function price(count: number): string {
  return `0.${String(count).padStart(10, '0')}`;
}
