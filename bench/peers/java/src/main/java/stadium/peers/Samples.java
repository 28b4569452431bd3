// The message: 16 bytes and 16 for each element, see bench/proto/echo.proto. A client keeps its elements and changes the id.
package stadium.peers;

import stadium.peers.proto.Element;
import stadium.peers.proto.Sample;

final class Samples {
    private final Sample template;

    Samples(int elements) {
        Sample.Builder builder = Sample.newBuilder().setSource(7).setKind(1).setId(1);
        for (int index = 1; index <= elements; index++) {
            builder.addElements(Element.newBuilder().setValue(index).setWeight(index));
        }
        template = builder.build();
        if (template.getSerializedSize() != 16 + 16 * elements) {
            throw new IllegalStateException("a sample of " + template.getSerializedSize() + " bytes");
        }
    }

    Sample sample(long id) {
        return template.toBuilder().setId(id).build();
    }
}
