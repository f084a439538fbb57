interface MediaModel {
  id: string;
  unit: 'image' | 'second' | 'character' | 'minute';
  /** US dollars as a plain decimal text. */
  unitPrice: string;
}

/** The media models of a load, one of each kind, with what is asked of them. */
export interface MediaModels {
  image: MediaModel & { size: string };
  /** `seconds`: what a clip may last. */
  video: MediaModel & { size: string; seconds: readonly number[] };
  speech: MediaModel;
  transcript: MediaModel;
}
