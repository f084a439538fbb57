import { useEffect, useEffectEvent } from 'react';

/** A link of a mail did its work in another tab: the user signed in, or proved who they are. */
type News = 'signed-in' | 'proved';
const CHANNEL = 'turnpike';

export function announce(news: News): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(news);
  channel.close();
}

/** Calls `onNews` when another tab of this browser announces it. */
export function useNews(news: News, onNews: () => void): void {
  const call = useEffectEvent(onNews);
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === news) call();
    };
    return () => channel.close();
  }, [news]);
}
