/**
 * Writes `docs/configuration.md` and `.env.example` from the one table of variables
 * (`src/settings/settings.ts`); with `--check` it writes nothing and fails when they differ from it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { errorCode } from '#kernel/error-code.ts'
import { personalVariables } from '#providers/all-facts.ts'
import type { Setting } from '#settings/setting-kinds.ts'
import { chapters } from '#settings/settings.ts'

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
  return `${[introduction, ...parts, personal, rules].join('\n\n')}\n`
}

const introduction = `# Configuration

<!-- Written by \`node scripts/pinned.js scripts/configuration.ts\` from src/settings/settings.ts: edit that table, not this page. -->

Tributary is configured by environment variables. They are read once, at the start. All errors are
reported together, one line per variable, and the start fails. An empty variable counts as unset. Without any variable
Tributary runs in sandbox mode: made-up people at emulated providers, no other service needed.

A file \`.env\` in the working directory of the start is read too, one \`NAME=value\` per line. The environment takes
precedence, and the start says that the file was read. The command \`tributary\` reads the file in its own working
directory, or else the one in the clone. Quote a value that begins or ends with a space or contains a \`#\`; a line that is neither a
variable nor a comment stops the start, and so does a \`.env\` that is no regular file. Set mode 0600 on a file with secrets: wider permissions are a warning. Under
\`NODE_ENV=test\` no file is read.`

const personalRows = personalVariables.map(
  ({ name, meaning }) => `| \`${name}\` | none | ${meaning} | a secret |`,
)

const personal = `## Read by \`tributary setup\` alone

The service has no use for these. The command seals them in the store and adds them to no file
([self-hosting](self-hosting.md)).

| variable | default | meaning | takes |
|---|---|---|---|
${personalRows.join('\n')}`

const rules = `## Rules for several variables

- On a \`HOST\` that other machines can reach, \`BASE_URL\` must be set. On loopback the names \`localhost\`, \`127.0.0.1\` and
  \`[::1]\` are accepted.
- A provider is configured when all its credentials are set: \`FISKIL_CLIENT_ID\` and \`FISKIL_CLIENT_SECRET\`;
  \`AKAHU_APP_TOKEN\` (with \`AKAHU_APP_SECRET\` for a full app); \`SNAPTRADE_CLIENT_ID\` and \`SNAPTRADE_CONSUMER_KEY\`. An incomplete
  set stops the start, and so does a value in quotes, a key of another provider or of Tributary, or an app token of Akahu that does not begin with \`app_token_\`. Up needs none, and Akahu and SnapTrade work without: people link their own tokens and keys. Such a provider does not count as configured for
  \`SANDBOX\`, so an installation with people's own credentials alone says \`SANDBOX=false\`.
- With \`DATABASE_URL\`, \`ENCRYPTION_KEY\` must be set, the same on every process. Store it apart from backups of the database:
  together they reveal your users' credentials.
- To change the key, follow [the encryption key](operations/install.md#the-encryption-key): its steps make sure that every process can
  decrypt what another one encrypts.
- The admin listener cannot share a port with the public one.
- \`MCP_URL\` and \`AUTH_URL\` are \`BASE_URL\` unless they are set, and \`BASE_URL\` is the public listener's own origin.
- In sandbox mode the SQLite database is in \`DATA_DIR/sandbox\`; generated secrets stay in \`DATA_DIR/secrets\` and
  \`DATA_DIR/admin-token\` in both modes.
- Generated secrets are readable only by their owner. Files that others can read get mode 0600 at the start, with a
  warning; existing files are never overwritten, a damaged one stops the start. So does a link in the place of one, or of
  \`DATA_DIR/secrets\`; \`DATA_DIR\` may itself be a link. A Secret of Kubernetes that is mounted there as a folder
  holds only links: set \`ENCRYPTION_KEY\` or \`ADMIN_TOKEN\`, or mount the file by itself with \`subPath\`.`

function toExampleLine([name, setting]: [string, Setting<unknown>]): string {
  const value = setting.fallback === null ? '' : setting.defaultText
  const note = setting.fallback === null ? ` Default: ${toDefault(setting)}.` : ''
  // A link of the page becomes the path of its document in the clone.
  const words = (setting.meaning + note)
    .replaceAll('`', '')
    .replace(/\[[^\]]*\]\(([^)]*)\)/g, 'docs/$1')
  return `# ${words}\n#${name}=${value}`
}

function makeExample(): string {
  const head = [
    '# Every environment variable, with its default. Copy to .env in the folder that Tributary starts in (the clone), mode',
    '# 0600, and uncomment what you set: it is read at the start. The environment takes precedence.',
    '# Written from src/settings/settings.ts; details in docs/configuration.md.',
  ].join('\n')
  const parts = chapterList.map(([title, chapter]) =>
    [`# --- ${title} ---`, ...Object.entries(chapter).map(toExampleLine)].join('\n\n'),
  )
  const rows = personalVariables.map(({ name, meaning }) => `# ${meaning}\n#${name}=`)
  parts.push(
    ['# --- Read by `tributary setup` alone ---'.replaceAll('`', ''), ...rows].join('\n\n'),
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
    if (errorCode(error) === 'ENOENT') return null
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
