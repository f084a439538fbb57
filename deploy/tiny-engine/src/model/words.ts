const split = (text: string): string[] => text.trim().split(/\s+/);

/** Words that an answer is made of, each with a space before it. */
export const SPACED_WORDS: readonly string[] = split(`
  the a an of to in on at by for with from over under between before after about into through without and or but so as
  if when while because although then now here there again still never always often soon today tomorrow yesterday
  it he she they we you one this that these those each every some many few other same own new old young small large
  long short high low early late good better best bright dark quiet loud warm cold clear deep open free full empty
  is are was were be has have had does did can could will would may might must should
  go come see say know think make take give find tell ask work feel leave call keep let begin show hear play run move
  live believe bring write sit stand lose pay meet include continue set learn change lead understand watch follow stop
  create speak read allow add spend grow open walk win teach offer remember consider appear buy serve send build stay
  fall cut reach rest raise pass sell decide return explain hope develop carry break receive agree support hold turn
  river mountain forest garden harbour island valley desert ocean village city street bridge tower window door house
  kitchen table paper letter book story song music picture colour light shadow morning evening night winter spring
  summer autumn rain snow wind storm cloud sky star moon sun earth stone sand water fire metal glass wood bread apple
  orange honey salt sugar coffee tea dinner horse bird fish cat dog fox bear wolf tree leaf root seed flower grass
  road train ship plane wheel engine machine signal number answer question reason idea word line point place world
  country people friend mother father sister brother child teacher doctor farmer sailor painter writer traveller
  year month week day hour minute moment beginning end middle side part piece half market price money trade law map
  café naïve déjà façade jalapeño über señor crème voilà Zürich Málaga København łódź smörgåsbord Привет мир Ελλάδα
  안녕 سلام שלום नमस्ते 🚀 🌍 👋 🎉 ✨ 🍊 🐟 🌧️ 👩‍🚀 — … €
`);

/** Words of scripts that are written without spaces. */
export const UNSPACED_WORDS: readonly string[] = split(`
  你好 世界 今天 明天 我们 朋友 学习 城市 河流 月亮 東京 時間 天気 ありがとう さくら カフェ です ください
`);
