package stadium.peers;

public final class Main {
    public static void main(String[] arguments) {}
}
