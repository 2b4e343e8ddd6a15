/**
 * Writes `docs/configuration.md` and `.env.example` from the one table of variables (`src/settings/settings.ts`); with `--check`
 * it writes nothing and fails when they differ from it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Setting } from '#src/settings/setting.ts'
import { chapters } from '#src/settings/settings.ts'

type Chapter = Readonly<Record<string, Setting<unknown>>>

const chapterList = Object.entries(chapters) as [string, Chapter][]

function toDefault(setting: Setting<unknown>): string {
  if (setting.defaultText === '') return 'none'
  return setting.fallback === null ? setting.defaultText : `\`${setting.defaultText}\``
}

function toRow([name, setting]: [string, Setting<unknown>]): string {
  const cells = [`\`${name}\``, toDefault(setting), setting.meaning, setting.expects]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function makeDocument(): string {
  const parts = chapterList.map(([title, chapter]) =>
    [
      `## ${title}`,
      '',
      '| variable | default | meaning | takes |',
      '|---|---|---|---|',
      ...Object.entries(chapter).map(toRow),
    ].join('\n'),
  )
  return `${[introduction, ...parts, rules].join('\n\n')}\n`
}

const introduction = `# Configuration

<!-- Written by \`node scripts/pinned.js scripts/configuration.ts\` from src/settings/settings.ts: edit that table, not this page. -->

Tributary is configured by environment variables alone. They are read once, at the start. Everything that is wrong with
them is reported in one go, one line per variable, and then nothing starts. An empty variable counts as unset. Without
any variable the product runs in sandbox mode: made-up people at emulated providers, no other service needed.`

const rules = `## Rules that join several variables

- On a \`HOST\` that other machines can reach, \`BASE_URL\` must be set. On loopback the names \`localhost\`, \`127.0.0.1\` and
  \`[::1]\` are accepted.
- A provider is configured when all its credentials are set: \`FISKIL_CLIENT_ID\` and \`FISKIL_CLIENT_SECRET\`;
  \`AKAHU_APP_TOKEN\` and \`AKAHU_APP_SECRET\`; \`SNAPTRADE_CLIENT_ID\` and \`SNAPTRADE_CONSUMER_KEY\`. Some without the others are
  a mistake that stops the start.
- With \`DATABASE_URL\`, \`ENCRYPTION_KEY\` must be set, the same on every process. Keep it apart from backups of the database:
  together they are the credentials of your users.
- To change the key, follow [the encryption key](operations.md#the-encryption-key): its steps keep every process able to read
  what another one seals.
- The admin listener never shares a port with the public one.
- \`MCP_URL\` and \`AUTH_URL\` are \`BASE_URL\` unless they are set, and \`BASE_URL\` is the public listener's own origin.
- In sandbox mode the embedded database lives in \`DATA_DIR/sandbox\`; generated secrets stay in \`DATA_DIR/secrets\` and
  \`DATA_DIR/admin-token\` in both modes.
- Generated secrets are readable by their owner alone. Files that others can read are tightened at the start, with a
  warning; existing files are never overwritten, a damaged one stops the start.`

function toExampleLine([name, setting]: [string, Setting<unknown>]): string {
  const value = setting.fallback === null ? '' : setting.defaultText
  const note = setting.fallback === null ? ` Default: ${toDefault(setting)}.` : ''
  return `# ${(setting.meaning + note).replaceAll('`', '')}\n#${name}=${value}`
}

function makeExample(): string {
  const head = [
    '# Every environment variable, with its default. Copy to .env, take the # off what you set, and load it, e.g. with',
    '#   set -a; . ./.env; set +a; npm start',
    '# Written from src/settings/settings.ts; details in docs/configuration.md.',
  ].join('\n')
  const parts = chapterList.map(([title, chapter]) =>
    [`# --- ${title} ---`, ...Object.entries(chapter).map(toExampleLine)].join('\n\n'),
  )
  return `${[head, ...parts].join('\n\n')}\n`
}

const outputs = [
  ['docs/configuration.md', makeDocument()],
  ['.env.example', makeExample()],
] as const

function readExisting(url: URL): string | null {
  try {
    return readFileSync(url, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

for (const [path, wanted] of outputs) {
  const url = new URL(`../${path}`, import.meta.url)
  if (readExisting(url) === wanted) continue
  if (process.argv.includes('--check')) {
    console.error(
      `${path} differs from src/settings/settings.ts: run node scripts/pinned.js scripts/configuration.ts`,
    )
    process.exitCode = 1
  } else {
    writeFileSync(url, wanted)
    console.log(`${path} written`)
  }
}
