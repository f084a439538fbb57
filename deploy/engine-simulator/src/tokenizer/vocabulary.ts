/**
 * The words that are one token each, and that generated text is made of. Multi-byte ones are among them on purpose:
 * accents (2 bytes a letter), Chinese and Japanese (3), emoji (4). 256 of them, so that 8 random bits choose one.
 */
export const words: readonly string[] = `
the of and to in is it for on with as by at from this that which when where while each every some many few most other
time day night morning evening year hour minute week month moment season summer winter spring autumn dawn dusk today
river lake ocean sea wave shore harbor bridge road street path gate tower wall garden forest field valley mountain
hill stone water fire wind rain snow cloud storm light shadow color sound music voice word letter page book story poem
song city town village house home room window door table chair lamp clock map key ticket train boat wheel engine
signal queue small large long short quick slow warm cold bright dark quiet loud open closed simple complex early late
first last next new old young deep high low near far left right north south east west round square soft hard heavy
clear fresh gentle run walk turn move carry hold keep give take send bring build make find count measure read write
listen speak answer ask learn think know see hear feel wait start stop begin end grow fall rise cross follow lead join
share change people friend family child teacher student writer reader traveler driver worker farmer baker pilot
captain guest neighbor café naïve façade crème brûlée jalapeño über straße señor été garçon piñata smörgåsbord Zürich
Kraków São 東京 世界 山 川 水 火 言葉 時間 静か 光 日本 你好 學習 城市 朋友 한국 서울 Привет мир река 🚀 🌍 🎉 🌊 🔥 🍀 🎶 ⭐ 🧭 🦊
`
  .trim()
  .split(/\s+/);
