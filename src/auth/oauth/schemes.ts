/**
 * Which addresses an answer may be sent to: https, http to the same machine, and private-use schemes of
 * applications (RFC 8252 §7). With other schemes a browser or system could open a file, run a script, load
 * another site or write a mail. Pure.
 */

/** Schemes of the web, files, scripts and systems, from IANA's registry of URI schemes and from browsers. */
const foreign: ReadonlySet<string> = new Set(
  [
    // Transports and other networks.
    'ftp ftps sftp tftp gopher ws wss shttp coap coaps coap+tcp coap+ws dav davs caldav caldavs carddav carddavs webcal',
    'ipfs ipns dweb hyper dat magnet ed2k feed nntp news rtsp rtsps rtmp rtp mms mmsh mmst icecast stun stuns turn turns',
    'ldap ldaps telnet tn3270 ssh rlogin rdp vnc irc irc6 ircs git svn svn+ssh rsync nfs smb cifs afp redis mqtt',
    // Files and data.
    'file filesystem content data blob cid mid mhtml jar zip res resource pkcs11',
    // Scripts.
    'javascript vbscript livescript mocha ecmascript jscript perlscript',
    // Browsers: internal pages, and schemes that wrap another one.
    'about chrome chrome-extension chrome-search chrome-untrusted chrome-error chrome-native chrome-devtools devtools',
    'edge edge-extension brave opera vivaldi firefox moz-extension moz-icon moz-nullprincipal safari-extension',
    'safari-web-extension safari-reader webkit-extension extension isolated-app view-source wyciwyg',
    'internet-explorer microsoft-edge microsoft-edge-holographic googlechrome googlechromes firefox-focus x-safari-http x-safari-https',
    'view-cache read reader page-icon favicon urn uuid tag info ni nih oid doi',
    // Operating systems: start a program or write a message.
    'intent android-app android-resource ios-app market itms itms-apps itms-appss itms-services',
    'mailto xmpp sip sips tel callto sms smsto mmsto fax geo maps facetime facetime-audio imessage',
    'its mk hcp help shell cmd powershell shortcuts search search-ms onenote windowsdefender',
    'vnd.ms.radio prefs x-apple.systempreferences x-man-page applescript afp-over-ip nfs-over-ip dict prospero wais z39.50r',
    'bitcoin ethereum lightning payto upi openid openid4vp oauth acct',
  ].flatMap((line) => line.split(' ')),
)

/**
 * Schemes that web sites can register handlers for (HTML Standard, 8.9.3), those of Windows and its programs
 * but the one that its store gives to each application, and those that carry one of the web or of files.
 */
const foreignClass = /^(?:(?:web|ext|https?|file)\+|ms-(?!app$))/

/** RFC 3986 §2: a parser removes or encodes other characters; the address would not be the given one. */
const ofUris = /^[A-Za-z\d\-._~:/?#[\]@!$&'()*+,;=%]*$/
/**
 * A host by name or address. The parser takes more; in a browser's policy `*` means every host, and a name
 * with an empty label or a `_` means none (CSP 3 §2.3.1).
 */
const hostName = /^(?:[a-z\d-]+(?:\.[a-z\d-]+)*\.?|\[[a-f\d:.]+\])$/

/**
 * RFC 9110 §4.2: an authority without a user. The parser also takes fewer slashes, for which a browser stays
 * on the page's own host, and shows nobody who is named before an `@`.
 */
const withAuthority = /^https?:\/\/[^/?#@]+(?:[/?#]|$)/i

/** Why an answer cannot go to `uri`; null when it can. Null for what is no URI: the engine refuses that. */
export function findRedirectProblem(uri: string): string | null {
  if (!ofUris.test(uri)) return 'redirect_uris may use the characters of a URI only'
  const url = URL.parse(uri)
  if (url === null) return null
  const scheme = url.protocol.slice(0, -1)
  const isOfWeb = /^https?$/.test(scheme)
  if (isOfWeb && !(hostName.test(url.hostname) && withAuthority.test(uri)))
    return 'redirect_uris must name one host'
  if (scheme === 'https') {
    // A browser's policy cannot name one (redirect.ts).
    return url.hostname.startsWith('[') ? 'redirect_uris may use https with no IPv6 address' : null
  }
  if (scheme === 'http') {
    // OAuth 2.1 §2.3.1: a code must not travel unencrypted, except within one machine.
    return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
      ? null
      : 'redirect_uris may use http on loopback addresses only'
  }
  if (!foreign.has(scheme) && !foreignClass.test(scheme)) return null
  return 'redirect_uris may use https, http on loopback addresses, or a scheme of the application itself'
}
