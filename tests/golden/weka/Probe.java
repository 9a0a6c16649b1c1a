// Probabilities of a classifier of Weka, in full precision; see README.md.
import java.io.BufferedReader;
import java.io.FileReader;
import java.util.Arrays;
import java.util.stream.Collectors;
import weka.classifiers.Classifier;
import weka.core.Instances;

public class Probe {
    static Instances read(String path) throws Exception {
        Instances table = new Instances(new BufferedReader(new FileReader(path)));
        table.setClassIndex(table.numAttributes() - 1);
        return table;
    }

    public static void main(String[] arguments) throws Exception {
        Instances asked = read(arguments[1]);
        Classifier model = Classifier.forName(arguments[2], Arrays.copyOfRange(arguments, 3, arguments.length));
        model.buildClassifier(read(arguments[0]));
        for (int row = 0; row < asked.numInstances(); row++) {
            double[] proba = model.distributionForInstance(asked.instance(row));
            System.out.println(Arrays.stream(proba).mapToObj(Double::toString).collect(Collectors.joining(" ")));
        }
    }
}
