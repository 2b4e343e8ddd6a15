import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRedirectProblem } from './schemes.ts'

const kept = [
  'https://claude.ai/api/mcp/auth_callback',
  'http://localhost:3000/cb',
  'http://127.0.0.1/cb',
  'http://[::1]:9/cb',
  'cursor://anysphere.cursor-retrieval/oauth/callback',
  'vscode://vscode.github-authentication/did-authenticate',
  'vscode-insiders://x/y',
  'com.example.app:/callback',
  'ms-app://s-1-15-2-1/',
  'com.raycast:/oauth',
  'warp://mcp/oauth2callback',
  'windsurf://x/oauth',
  'zed://oauth',
  'msauth.com.example.app://auth',
]

const refused = [
  ...[
    'ftp',
    'ftps',
    'sftp',
    'ws',
    'wss',
    'gopher',
    'magnet',
    'ipfs',
    'ldap',
    'telnet',
    'smb',
    'webcal',
  ],
  ...['file', 'filesystem', 'data', 'blob', 'jar', 'cid', 'resource', 'mhtml'],
  ...['javascript', 'vbscript', 'livescript', 'JavaScript', 'java\tscript', 'jscript'],
  ...[
    'about',
    'chrome',
    'chrome-extension',
    'devtools',
    'edge',
    'moz-extension',
    'view-source',
    'microsoft-edge',
  ],
  ...[
    'intent',
    'android-app',
    'mailto',
    'tel',
    'sms',
    'market',
    'search-ms',
    'ms-msdt',
    'itms-services',
  ],
  ...['web+mcp', 'ext+x', 'https+x', 'http+unix', 'file+x', 'urn', 'View-Source', 'FILE'],
  ...['ms-word', 'ms-appx-web', 'MS-x', 'onenote', 'windowsdefender', 'internet-explorer'],
  ...['shortcuts', 'powershell', 'cmd', 'ms-apple'],
]

test('an answer goes to https, to http on loopback, and to the own scheme of an application', () => {
  for (const uri of kept) assert.equal(findRedirectProblem(uri), null, uri)
})

for (const scheme of refused)
  test(`an answer never goes to ${JSON.stringify(`${scheme}:`)}, however the rest is written`, () => {
    for (const rest of ['x', '//agent.example/cb', '/cb', '///etc/passwd', 'https://evil.test/'])
      assert.match(findRedirectProblem(`${scheme}:${rest}`) ?? '', /^redirect_uris may use/)
  })

test('plain http to any host but loopback is refused, in any notation', () => {
  for (const host of [
    'evil.test',
    '10.0.0.1',
    '127.0.0.1.evil.test',
    'localhost.evil.test',
    '[::2]',
  ])
    assert.match(findRedirectProblem(`http://${host}/cb`) ?? '', /loopback addresses only/)
})

test('text that is not a URI is left to the parser', () => {
  for (const text of ['', '/relative', 'x', '::']) assert.equal(findRedirectProblem(text), null)
})

test('an address with other characters than those of a URI is refused: the parser would change or encode them', () => {
  for (const mark of [
    '\r',
    '\n',
    '\t',
    '\0',
    ' ',
    '\u007f',
    '\u0085',
    '\u2028',
    'é',
    '\\',
    '"',
    '<',
    '`',
    '{',
    '|',
    '^',
  ])
    for (const uri of [
      `https://x.test/${mark}cb`,
      `https://x.test/cb${mark}`,
      `${mark}https://x.test/cb`,
      `ht${mark}tps://x.test/cb`,
      `https://x${mark}.test/cb`,
      `com.example.app:/${mark}cb`,
    ])
      assert.match(findRedirectProblem(uri) ?? '', /characters of a URI only/, JSON.stringify(uri))
})

test('an address on the web names one host: nothing that a browser’s policy reads as all hosts, or as more than a host', () => {
  for (const host of [
    '*',
    '*:443',
    '*.x.test',
    'x.*.test',
    '%2a',
    "x'.test",
    'x;y',
    'x,y',
    'x$y',
    '(x)',
    'x!y',
    '~x',
    'a+b=c',
    'a..test',
    'x_y.test',
    '.',
    '..',
    '.test',
    'a.test..',
  ])
    assert.match(findRedirectProblem(`https://${host}/cb`) ?? '', /must name one host/, host)
  for (const uri of [
    'https://xn--bcher-kva.test/cb',
    'https://x-y.test./cb',
    'https://192.0.2.1:8443/cb',
    'https://x.test/*',
  ])
    assert.equal(findRedirectProblem(uri), null, uri)
})

test('http://[::1] is the only IPv6 address that is taken: a browser’s policy can name none', () => {
  for (const host of ['[2001:db8::1]', '[::1]', '[::1]:8443', '[::]', '[::ffff:127.0.0.1]']) {
    const problem = findRedirectProblem(`https://${host}/cb`)
    assert.equal(problem, 'redirect_uris may use https with no IPv6 address', host)
  }
  for (const uri of ['http://[::1]/cb', 'http://[0:0:0:0:0:0:0:1]:5000/cb'])
    assert.equal(findRedirectProblem(uri), null, uri)
  assert.match(findRedirectProblem('http://[2001:db8::1]/cb') ?? '', /http on loopback/)
})

test('an address of the web names its host behind two slashes, and no user', () => {
  for (const rest of [
    ':cb',
    ':/x.test/cb',
    ':///x.test/cb',
    '://known.test@x.test/cb',
    '://:@x.test/cb',
  ])
    for (const scheme of ['https', 'HTTPS', 'http'])
      assert.equal(findRedirectProblem(scheme + rest), 'redirect_uris must name one host', rest)
  for (const uri of [
    'https://x.test',
    'HTTPS://X.test?a=@b',
    'https://x.test/@me',
    'http://localhost:1',
  ])
    assert.equal(findRedirectProblem(uri), null, uri)
})
