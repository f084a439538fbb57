/** Public routes of media: requests, jobs and their content. Ids are path parameters, `:id`. */
export const MEDIA_ROUTES = {
  createImages: { method: 'POST', path: '/v1/images/generations' },
  getImageJob: { method: 'GET', path: '/v1/images/jobs/:id' },
  deleteImageJob: { method: 'DELETE', path: '/v1/images/jobs/:id' },
  getImageContent: { method: 'GET', path: '/v1/images/jobs/:id/content' },
  createVideo: { method: 'POST', path: '/v1/videos' },
  listVideos: { method: 'GET', path: '/v1/videos' },
  getVideo: { method: 'GET', path: '/v1/videos/:id' },
  deleteVideo: { method: 'DELETE', path: '/v1/videos/:id' },
  getVideoContent: { method: 'GET', path: '/v1/videos/:id/content' },
  createSpeech: { method: 'POST', path: '/v1/audio/speech' },
  createTranscription: { method: 'POST', path: '/v1/audio/transcriptions' },
  createTranslation: { method: 'POST', path: '/v1/audio/translations' },
  getAudioJob: { method: 'GET', path: '/v1/audio/jobs/:id' },
  deleteAudioJob: { method: 'DELETE', path: '/v1/audio/jobs/:id' },
  getAudioContent: { method: 'GET', path: '/v1/audio/jobs/:id/content' },
} as const satisfies Record<string, { method: 'GET' | 'POST' | 'DELETE'; path: `/v1/${string}` }>;
