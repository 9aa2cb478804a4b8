import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Asks the nearest of several daemons that answers, with Java's own classes: a line of the input is who asks.
 *
 * <pre>java Daemons.java host:port ... &lt;ids</pre>
 *
 * A request goes to the next daemon only while it was not sent: whoever got it may have charged it. A daemon is asked
 * when it has a share: before that it refuses everything. One thread at a time may use it.
 */
public class Daemons {
    static final int TIMEOUT_MS = 500, CONNECT_TIMEOUT_MS = 250, PAUSE_MS = 1000;

    /** What a daemon answers with an error: it has decided nothing and charged nothing. */
    record Refusal(String text) {}

    record Answer(Object value, String by) {}

    static class Daemon {
        final String address;
        SocketChannel channel; // null: there is none
        DataInputStream in;
        long awayUntilMs = System.nanoTime() / 1_000_000;

        Daemon(String address) {
            this.address = address;
        }

        void drop() {
            try {
                if (channel != null)
                    channel.close();
            } catch (IOException e) {
                // It is gone in any case.
            }
            channel = null;
            awayUntilMs = System.nanoTime() / 1_000_000 + PAUSE_MS;
        }

        /** Whether the daemon has closed the connection, or it is no use any more. */
        boolean closed() {
            try {
                channel.configureBlocking(false);
                boolean closed = channel.read(ByteBuffer.allocate(1)) != 0;
                channel.configureBlocking(true);
                return closed;
            } catch (IOException e) {
                return true;
            }
        }

        /** Sends a command and reads its answer: Long, String, List, Refusal, or null. */
        Object command(String... words) throws IOException {
            ByteArrayOutputStream request = new ByteArrayOutputStream();
            request.write(("*" + words.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
            for (String word : words) {
                byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
                request.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
                request.write(bytes);
                request.write("\r\n".getBytes(StandardCharsets.US_ASCII));
            }
            channel.socket().getOutputStream().write(request.toByteArray());
            return read();
        }

        Object read() throws IOException {
            StringBuilder text = new StringBuilder();
            for (byte b = in.readByte(); b != '\n'; b = in.readByte())
                if (b != '\r')
                    text.append((char) b);
            if (text.length() == 0)
                throw new IOException("an empty line");
            char kind = text.charAt(0);
            String rest = text.substring(1);
            if (kind == '+')
                return rest;
            if (kind == '-')
                return new Refusal(rest);
            if (":$*".indexOf(kind) < 0)
                throw new IOException("what begins with " + kind + " is no answer");
            long number = Long.parseLong(rest);
            if (kind == ':')
                return number;
            if (number < 0)
                return null;
            if (kind == '$') {
                byte[] bytes = new byte[(int) number + 2];
                in.readFully(bytes);
                return new String(bytes, 0, (int) number, StandardCharsets.UTF_8);
            }
            List<Object> values = new ArrayList<>();
            for (; number > 0; number--)
                values.add(read());
            return values;
        }

        /** Connects if need be. False: the daemon is away, or has no share yet. */
        boolean connect() {
            if (channel != null && !closed())
                return true;
            if (channel == null && System.nanoTime() / 1_000_000 < awayUntilMs)
                return false;
            drop();
            try {
                int colon = address.lastIndexOf(':');
                String host = address.substring(0, colon);
                int port = Integer.parseInt(address.substring(colon + 1));
                channel = SocketChannel.open();
                channel.socket().connect(new InetSocketAddress(host, port), CONNECT_TIMEOUT_MS);
                channel.socket().setSoTimeout(TIMEOUT_MS);
                channel.socket().setTcpNoDelay(true);
                in = new DataInputStream(channel.socket().getInputStream());
                // Takes nothing. A refusal: this user may not ask, or there is no limit for everybody.
                if (!String.valueOf(command("PEEK", "anybody", "VERBOSE")).contains("not_ready"))
                    return true;
            } catch (IOException e) {
                // It is away.
            }
            drop();
            return false;
        }
    }

    final List<Daemon> daemons = new ArrayList<>();

    Daemons(String... addresses) {
        for (String address : addresses)
            daemons.add(new Daemon(address));
    }

    /** The answer and who gave it; null: nobody did. */
    Answer ask(String... words) {
        for (Daemon daemon : daemons) {
            if (!daemon.connect())
                continue;
            try {
                return new Answer(daemon.command(words), daemon.address);
            } catch (IOException e) {
                daemon.drop();
                return null; // it may have been charged
            }
        }
        return null;
    }

    public static void main(String[] addresses) throws IOException {
        Daemons daemons = new Daemons(addresses);
        BufferedReader names = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String name = names.readLine(); name != null; name = names.readLine()) {
            Answer answer = daemons.ask("CAN_ACCESS", name);
            boolean allowed = answer != null && Long.valueOf(1).equals(answer.value()); // nobody answers: refused
            System.out.println(name + ": " + (allowed ? "go ahead" : "not now") + ", said by "
                + (answer == null ? "nobody" : answer.by()));
        }
    }
}
